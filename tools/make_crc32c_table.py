"""Make src/base/crc32c_table.h: python tools/make_crc32c_table.py > src/base/crc32c_table.h

Row k holds the CRC-32C of each byte with k zero bytes behind it, so that eight bytes take eight
look-ups that do not wait for each other.
"""

POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected


def main():
    row = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
        row.append(byte)
    rows = [row]
    for _ in range(7):
        rows.append([crc >> 8 ^ row[crc & 255] for crc in rows[-1]])
    print("/* CRC-32C, eight bytes at a time: made by tools/make_crc32c_table.py. */")
    print("#ifndef STK__CRC32C_TABLE_H\n#define STK__CRC32C_TABLE_H\n\n#include <stdint.h>\n")
    print("/* clang-format off */\nstatic const uint32_t stk__crc32c_table[8][256] = {")
    for crcs in rows:
        print("    {")
        for i in range(0, 256, 7):
            print("     " + "".join(f" 0x{crc:08x}," for crc in crcs[i : i + 7]))
        print("    },")
    print("};\n/* clang-format on */\n\n#endif")


if __name__ == "__main__":
    main()
