/* What are these bytes? See sniff.h. Looks at the first 64 bytes (text: 512) and never further. */
#include "codec/sniff.h"

#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/size.h"

static bool has_at(stk_view bytes, size_t offset, const char *magic, size_t length)
{
    return bytes.size >= offset + length &&
           memcmp((const uint8_t *)bytes.data + offset, magic, length) == 0;
}

/* Does it begin so, or end too early to tell? A picture cut inside its magic is still one. */
static bool begins(stk_view bytes, const char *magic, size_t length, size_t least)
{
    size_t there = stk__size_min(bytes.size, length);

    return there >= least && memcmp(bytes.data, magic, there) == 0;
}

uint32_t stk__sniff_jpeg(stk_view encoded)
{
    return begins(encoded, "\xff\xd8\xff", 3, 2) ? 100 : 0;
}

uint32_t stk__sniff_png(stk_view encoded)
{
    if (begins(encoded, "\x89PNG\r\n\x1a\n", 8, 4))
        return 100;
    return has_at(encoded, 0, "\x89PNG", 4) ? 60 : 0; /* line ends changed on the way */
}

uint32_t stk__sniff_webp(stk_view encoded)
{
    if (has_at(encoded, 0, "RIFF", 4) && has_at(encoded, 8, "WEBP", 4))
        return 100;
    return 0;
}

/* ISO base media: a box "ftyp" whose major brand tells. */
static stk__looks looks_of_brand(stk_view bytes)
{
    static const struct {
        char brand[5];
        const char *name;
    } brands[] = {
        {"avif", "AVIF"},
        {"avis", "AVIF"},
        {"heic", "HEIC"},
        {"heix", "HEIC"},
        {"heim", "HEIC"},
        {"heis", "HEIC"},
        {"hevc", "HEIC"},
        {"hevx", "HEIC"},
        {"mif1", "HEIF"},
        {"msf1", "HEIF"},
    };

    if (!has_at(bytes, 4, "ftyp", 4))
        return (stk__looks){NULL, false};
    for (size_t i = 0; i < STK__COUNT_OF(brands); i++) {
        if (has_at(bytes, 8, brands[i].brand, 4))
            return (stk__looks){brands[i].name, true};
    }
    return (stk__looks){"an ISO media file, such as MP4", false};
}

static bool is_bmp(stk_view bytes)
{
    uint32_t head_bytes;

    if (!has_at(bytes, 0, "BM", 2) || bytes.size < 18)
        return false;
    head_bytes = stk__get_le32((const uint8_t *)bytes.data + 14);
    return head_bytes == 12 || (head_bytes >= 16 && head_bytes <= 124); /* OS/2, then Windows */
}

static bool is_pnm(stk_view bytes)
{
    const uint8_t *p = bytes.data;

    return bytes.size >= 3 && p[0] == 'P' && p[1] >= '1' && p[1] <= '7' &&
           (p[2] == ' ' || p[2] == '\n' || p[2] == '\r' || p[2] == '\t' || p[2] == '#');
}

static stk__looks looks_binary(stk_view bytes)
{
    static const struct {
        const char *magic;
        size_t length;
        stk__looks looks;
    } known[] = {
        {"GIF87a", 6, {"GIF", true}},
        {"GIF89a", 6, {"GIF", true}},
        {"II*\0", 4, {"TIFF", true}},
        {"MM\0*", 4, {"TIFF", true}},
        {"II+\0", 4, {"BigTIFF", true}},
        {"MM\0+", 4, {"BigTIFF", true}},
        {"\xff\x0a", 2, {"JPEG XL", true}},
        {"\0\0\0\x0cJXL \r\n\x87\n", 12, {"JPEG XL", true}},
        {"\0\0\0\x0cjP  \r\n\x87\n", 12, {"JPEG 2000", true}},
        {"\xff\x4f\xff\x51", 4, {"JPEG 2000", true}},
        {"8BPS", 4, {"Photoshop", true}},
        {"\0\0\1\0", 4, {"ICO", true}},
        {"\x76\x2f\x31\x01", 4, {"OpenEXR", true}},
        {"#?RADIANCE", 10, {"Radiance HDR", true}},
        {"qoif", 4, {"QOI", true}},
        {"%PDF-", 5, {"PDF", false}},
        {"\x1f\x8b", 2, {"gzip", false}},
        {"\x28\xb5\x2f\xfd", 4, {"zstd", false}},
        {"PK\3\4", 4, {"a zip archive", false}},
        {"\x93NUMPY", 6, {"a NumPy array", false}},
        {"version https://git-lfs", 23, {"a Git LFS pointer", false}},
    };

    for (size_t i = 0; i < STK__COUNT_OF(known); i++) {
        if (has_at(bytes, 0, known[i].magic, known[i].length))
            return known[i].looks;
    }
    if (is_bmp(bytes))
        return (stk__looks){"BMP", true};
    if (is_pnm(bytes))
        return (stk__looks){"PNM", true};
    return looks_of_brand(bytes);
}

/* ASCII letters of any case; `word` is in lower case. */
static bool word_at(stk_view bytes, size_t offset, const char *word)
{
    const uint8_t *p = bytes.data;
    size_t length = strlen(word);

    if (bytes.size < offset || bytes.size - offset < length)
        return false;
    for (size_t i = 0; i < length; i++) {
        uint8_t c = p[offset + i];
        if ((c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) != word[i])
            return false;
    }
    return true;
}

static bool is_plain_text(stk_view bytes)
{
    const uint8_t *p = bytes.data;
    size_t there = stk__size_min(bytes.size, 64);

    for (size_t i = 0; i < there; i++) {
        if (p[i] == 0x7f || (p[i] < ' ' && (p[i] < '\t' || p[i] > '\r')))
            return false;
    }
    return there > 0;
}

static stk__looks looks_text(stk_view bytes)
{
    const uint8_t *p = bytes.data;
    size_t at = has_at(bytes, 0, "\xef\xbb\xbf", 3) ? 3 : 0;
    size_t end = stk__size_min(bytes.size, 512);

    while (at < end && (p[at] == ' ' || (p[at] >= '\t' && p[at] <= '\r')))
        at++;
    if (word_at(bytes, at, "<!doctype html") || word_at(bytes, at, "<html") ||
        word_at(bytes, at, "<head") || word_at(bytes, at, "<body"))
        return (stk__looks){"HTML", false};
    if (word_at(bytes, at, "<svg"))
        return (stk__looks){"SVG", true};
    if (word_at(bytes, at, "<?xml") || word_at(bytes, at, "<error>"))
        return (stk__looks){"XML", false};
    if (word_at(bytes, at, "{"))
        return is_plain_text(bytes) ? (stk__looks){"JSON", false} : (stk__looks){NULL, false};
    return is_plain_text(bytes) ? (stk__looks){"text", false} : (stk__looks){NULL, false};
}

stk__looks stk__sniff_other(stk_view bytes)
{
    stk__looks looks = looks_binary(bytes);

    return looks.name != NULL ? looks : looks_text(bytes);
}
