/* Without these: shards that people have in the field lose members, give wrong bytes, or hang: the
 * field cases of tar containers, each under its number. Their decisions stand in docs/formats.md.
 */
#include "support/read_tar.h"

static void text_of(made_tar *t, const char *name, char byte, size_t size)
{
    char data[4096];

    assert_true(size <= sizeof data);
    memset(data, byte, size);
    tar_file(t, name, data, size);
}

/* Four members of 700 bytes: a header and two blocks each. */
static void four(made_tar *t)
{
    text_of(t, "k0.bin", 'A', 700);
    text_of(t, "k1.bin", 'B', 700);
    text_of(t, "k2.bin", 'C', 700);
    text_of(t, "k3.bin", 'D', 700);
}

#define FOUR "file k0.bin 700*A\nfile k1.bin 700*B\nfile k2.bin 700*C\nfile k3.bin 700*D\n"

static void c01_pax_headers_before_every_member(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_pax(&t, 'x', "mtime", "1700000000.25");
    tar_text(&t, "a.jpg", "x");
    tar_pax(&t, 'x', "mtime", "1700000000.5");
    tar_text(&t, "a.cls", "3");
    tar_end(&t);
    expect_story(&t, "file a.jpg \"x\"\nfile a.cls \"3\"\nend\n");
}

static void c02_global_pax_header_first(void **state)
{
    char records[512];
    size_t size;
    made_tar t = {0};
    (void)state;

    size = tar_pax_record(records, sizeof records, "comment", "made by a tool", 14);
    size +=
        tar_pax_record(records + size, sizeof records - size, "VENDOR.thing", "\xff\xfe \0=\n", 6);
    tar_extended(&t, 'g', records, size);
    tar_text(&t, "a.jpg", "x");
    tar_text(&t, "a.cls", "3");
    tar_end(&t);
    expect_story(&t, "file a.jpg \"x\"\nfile a.cls \"3\"\nend\n");
}

static void c03_names_over_100_bytes_in_three_encodings(void **state)
{
    char name[160], expected[400];
    made_tar t = {0};
    (void)state;

    memset(name, 'n', sizeof name);
    memcpy(name, "dir/", 4);
    strcpy(name + 134, ".jpg");
    snprintf(expected, sizeof expected, "file %s \"1\"\nend\n", name);

    tar_put_head(&t, &(tar_head){.name = "././@LongLink", .size = strlen(name) + 1, .type = 'L'});
    tar_put(&t, name, strlen(name) + 1);
    tar_pad(&t);
    tar_text(&t, "dir/nnn", "1"); /* cut: what a reader without long names sees */
    tar_end(&t);
    expect_story(&t, expected);

    tar_named(&t, name, strlen(name), "1", 1);
    tar_end(&t);
    expect_story(&t, expected);

    name[60] = '/';
    snprintf(expected, sizeof expected, "file %s \"1\"\nend\n", name);
    name[60] = '\0';
    tar_put_head(&t, &(tar_head){.name = name + 61, .prefix = name, .size = 1});
    tar_put(&t, "1", 1);
    tar_pad(&t);
    tar_end(&t);
    expect_story(&t, expected);
}

static void c04_name_field_of_exactly_100_bytes(void **state)
{
    char name[101], expected[200];
    made_tar t = {0};
    (void)state;

    memset(name, 'x', 96);
    strcpy(name + 96, ".jpg");
    snprintf(expected, sizeof expected, "file %s \"x\"\nend\n", name);
    tar_text(&t, name, "x");
    tar_end(&t);
    expect_story(&t, expected);
}

static void c06_base_256_sizes(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_put_head(&t, &(tar_head){.name = "a.bin", .size_field = "\x80\0\0\0\0\0\0\0\0\0\2\xbc"});
    tar_put(&t, memset((char[700]){0}, 'B', 700), 700);
    tar_pad(&t);
    tar_text(&t, "b.bin", "b");
    tar_end(&t);
    expect_story(&t, "file a.bin 700*B\nfile b.bin \"b\"\nend\n");
}

/* 9 GiB, of which the disk holds two blocks and an end marker. */
static void c06_a_member_over_8_gib_is_stepped_over(void **state)
{
    const uint64_t big = 9ull << 30 | 5;
    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    tar_story *story = malloc(sizeof *story);
    char *folder = make_temp_folder();
    const char *path = in_folder(folder, "big.tar");
    made_tar t = {0};
    FILE *file;
    (void)state;

    tar_put_head(&t, &(tar_head){.name = "big.bin", .size_field = "\x80\0\0\0\0\0\0\2\x40\0\0\5"});
    save_file(path, t.data, t.size);
    tar_free(&t);
    tar_text(&t, "z.txt", "ok");
    tar_end(&t);
    file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseeko(file, (off_t)(512 + big + (512 - big % 512)), SEEK_SET), 0);
    assert_int_equal(fwrite(t.data, 1, t.size, file), t.size);
    assert_int_equal(fclose(file), 0);
    tar_free(&t);

    options.data = false;
    read_by_path(story, path, options, true);
    assert_string_equal(
        story->text, "file big.bin @0,512,9663676421\nfile z.txt @9663677440,9663677952,2\nend\n");
    options.data = true; /* larger than one member may be: refused, not allocated */
    read_by_path(story, path, options, false);
    assert_string_equal(story->text, "STK_ELIMIT 0 big.bin\n");
    assert_non_null(strstr(story->err.text, "max_member_bytes"));
    free(story);
    remove_tree(folder);
}

static void c07_pax_size_overrides_the_header(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_pax(&t, 'x', "size", "700");
    tar_put_head(&t, &(tar_head){.name = "a.bin", .size = 0});
    tar_put(&t, memset((char[700]){0}, 'B', 700), 700);
    tar_pad(&t);
    tar_text(&t, "b.bin", "b");
    tar_end(&t);
    expect_story(&t, "file a.bin 700*B\nfile b.bin \"b\"\nend\n");
}

static void c08_nonsense_sizes(void **state)
{
    static const char *const fields[] = {
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", /* -1 */
        "\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",       /* 2^64 - 1 */
        "12x45670000\0",                                    /* no number */
        ("\0"
         "0000001274"), /* a digit behind the end of the text */
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        made_tar t = {0};

        tar_text(&t, "fine.bin", "f");
        tar_put_head(&t, &(tar_head){.name = "a.bin", .size_field = fields[i]});
        tar_put(&t, memset((char[700]){0}, 'B', 700), 700);
        tar_pad(&t);
        tar_end(&t);
        expect_story(&t, "file fine.bin \"f\"\nSTK_ECORRUPT 1024 a.bin\n");
    }
}

/* A size that is a number, but of more than the file holds: nothing is allocated for it. */
static void c08_a_size_near_2_63(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_put_head(&t,
        &(tar_head){.name = "a.bin", .size_field = "\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff"});
    tar_put(&t, memset((char[700]){0}, 'B', 700), 700);
    tar_pad(&t);
    tar_end(&t);
    expect_story(&t, "STK_ECORRUPT 0 a.bin\n");
}

static void c09_v7_headers(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_put_head(&t, &(tar_head){.name = "d/", .magic = "\0\0\0\0\0\0\0\0"});
    tar_bend(&t, 0, 156, "", 1);
    tar_put_head(&t, &(tar_head){.name = "d/a.bin", .size = 700, .magic = "\0\0\0\0\0\0\0\0"});
    tar_bend(&t, 512, 156, "", 1);
    tar_put(&t, memset((char[700]){0}, 'B', 700), 700);
    tar_pad(&t);
    tar_end(&t);
    expect_story(&t, "folder d/\nfile d/a.bin 700*B\nend\n");
}

/* v7 says nothing about the bytes where ustar has its prefix. */
static void c09_no_prefix_without_posix_magic(void **state)
{
    static const char *const magics[] = {"\0\0\0\0\0\0\0\0", "ustar  "};
    (void)state;

    for (size_t i = 0; i < COUNT_OF(magics); i++) {
        made_tar t = {0};

        tar_put_head(&t,
            &(tar_head){.name = "a.bin", .magic = magics[i], .prefix = "14641234567", .size = 0});
        tar_end(&t);
        expect_story(&t, "file a.bin \"\"\nend\n");
    }
}

static void c09_sizes_with_spaces(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_put_head(&t, &(tar_head){.name = "a.bin", .size_field = "       1274 "});
    tar_put(&t, memset((char[700]){0}, 'B', 700), 700);
    tar_pad(&t);
    tar_text(&t, "b.bin", "b");
    tar_end(&t);
    expect_story(&t, "file a.bin 700*B\nfile b.bin \"b\"\nend\n");
}

static void c09_contiguous_and_unknown_types(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_put_head(&t, &(tar_head){.name = "a.bin", .type = '7', .size = 1});
    tar_put(&t, "a", 1);
    tar_pad(&t);
    tar_put_head(&t, &(tar_head){.name = "u.bin", .type = 'Z', .size = 1});
    tar_put(&t, "u", 1);
    tar_pad(&t);
    tar_put_head(&t, &(tar_head){.name = "pipe", .type = '6'});
    tar_text(&t, "b.bin", "b");
    tar_end(&t);
    expect_story(&t, "file a.bin \"a\"\nother u.bin\nother pipe\nfile b.bin \"b\"\nend others=2\n");
}

static void c10_old_gnu_sparse_is_refused_by_name(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_text(&t, "fine.bin", "f");
    tar_put_head(&t, &(tar_head){.name = "holes.bin", .type = 'S', .size = 512});
    tar_put(&t, memset((char[512]){0}, 'H', 512), 512);
    tar_end(&t);
    expect_story(&t, "file fine.bin \"f\"\nSTK_ENOTSUP 1024 holes.bin\n");
}

/* The header has a placeholder; the record has the name. */
static void c10_pax_sparse_is_refused_by_its_real_name(void **state)
{
    char records[512];
    size_t size;
    made_tar t = {0};
    (void)state;

    size = tar_pax_record(records, sizeof records, "GNU.sparse.major", "1", 1);
    size +=
        tar_pax_record(records + size, sizeof records - size, "GNU.sparse.name", "holes.bin", 9);
    tar_extended(&t, 'x', records, size);
    text_of(&t, "GNUSparseFile.7/holes.bin", 'H', 512);
    tar_end(&t);
    expect_story(&t, "STK_ENOTSUP 0 holes.bin\n");

    tar_pax(&t, 'x', "GNU.sparse.size", "1048580"); /* format 0.0: the header's name is right */
    text_of(&t, "holes.bin", 'H', 512);
    tar_end(&t);
    expect_story(&t, "STK_ENOTSUP 0 holes.bin\n");
}

static void c11_folders_and_dot_slash(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_put_head(&t, &(tar_head){.name = "./", .type = '5'});
    tar_text(&t, "./a.jpg", "x");
    tar_put_head(&t, &(tar_head){.name = "./sub/", .type = '5'});
    tar_text(&t, "./a.cls", "3");
    tar_end(&t);
    expect_story(&t, "folder ./\nfile ./a.jpg \"x\"\nfolder ./sub/\nfile ./a.cls \"3\"\nend\n");
}

static void c14_hard_links_lead_to_data(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_text(&t, "a.jpg", "AAAA");
    tar_text(&t, "a.cls", "1");
    tar_link(&t, "b.jpg", '1', "a.jpg");
    tar_text(&t, "b.cls", "2");
    tar_link(&t, "c.jpg", '2', "a.jpg");
    tar_text(&t, "c.cls", "3");
    tar_link(&t, "d.jpg", '1', "b.jpg");   /* a link to a link */
    tar_link(&t, "e.jpg", '1', "b.cls");   /* to a member behind the first link */
    tar_link(&t, "f.jpg", '1', "z.jpg");   /* to one that comes later */
    tar_link(&t, "g.jpg", '1', "c.jpg");   /* to a symbolic link */
    tar_link(&t, "a.cls", '1', "nowhere"); /* to nothing */
    tar_text(&t, "z.jpg", "ZZ");
    tar_end(&t);
    expect_story(&t,
        "file a.jpg \"AAAA\"\nfile a.cls \"1\"\nhard b.jpg -> a.jpg \"AAAA\"\nfile b.cls \"2\"\n"
        "soft c.jpg -> a.jpg\nfile c.cls \"3\"\nhard d.jpg -> b.jpg \"AAAA\"\n"
        "hard e.jpg -> b.cls \"2\"\nhard f.jpg -> z.jpg\nhard g.jpg -> c.jpg\n"
        "hard a.cls -> nowhere\nfile z.jpg \"ZZ\"\nend links=4\n");
}

static void c14_a_link_leads_to_the_last_member_of_that_name(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_text(&t, "a.jpg", "old");
    tar_text(&t, "a.jpg", "new");
    tar_link(&t, "b.jpg", '1', "a.jpg");
    tar_text(&t, "a.jpg", "newest");
    tar_link(&t, "c.jpg", '1', "a.jpg");
    tar_end(&t);
    expect_story(&t, "file a.jpg \"old\"\nfile a.jpg \"new\"\nhard b.jpg -> a.jpg \"new\"\n"
                     "file a.jpg \"newest\"\nhard c.jpg -> a.jpg \"newest\"\nend\n");
}

static void c14_a_link_with_a_long_target(void **state)
{
    char name[160], expected[1024];
    made_tar t = {0};
    (void)state;

    memset(name, 'n', sizeof name);
    strcpy(name + 140, ".jpg");
    tar_named(&t, name, strlen(name), "AAAA", 4);
    tar_pax(&t, 'x', "linkpath", name);
    tar_link(&t, "b.jpg", '1', "nnn");
    tar_put_head(&t, &(tar_head){.name = "././@LongLink", .size = strlen(name) + 1, .type = 'K'});
    tar_put(&t, name, strlen(name) + 1);
    tar_pad(&t);
    tar_link(&t, "c.jpg", '1', "nnn");
    tar_end(&t);
    snprintf(expected, sizeof expected,
        "file %s \"AAAA\"\nhard b.jpg -> %s \"AAAA\"\nhard c.jpg -> %s \"AAAA\"\nend\n", name, name,
        name);
    expect_story(&t, expected);
}

static void c15_a_link_that_states_a_size_without_data(void **state)
{
    made_tar t = {0};
    (void)state;

    text_of(&t, "a.jpg", 'A', 700);
    tar_put_head(&t, &(tar_head){.name = "b.jpg", .type = '1', .link = "a.jpg", .size = 700});
    tar_text(&t, "c.jpg", "C");
    tar_end(&t);
    expect_story(&t, "file a.jpg 700*A\nhard b.jpg -> a.jpg 700*A\nfile c.jpg \"C\"\nend\n");
}

/* By chance a header stands where the data would end, too: the one right behind counts. */
static void c15_the_nearest_header_counts(void **state)
{
    made_tar t = {0};
    (void)state;

    text_of(&t, "a.jpg", 'A', 700);
    tar_put_head(&t, &(tar_head){.name = "b.jpg", .type = '1', .link = "a.jpg", .size = 700});
    tar_text(&t, "c.jpg", ""); /* two headers: as many blocks as 700 bytes */
    tar_text(&t, "d.jpg", "");
    tar_text(&t, "e.jpg", "E");
    tar_end(&t);
    expect_story(&t,
        "file a.jpg 700*A\nhard b.jpg -> a.jpg 700*A\nfile c.jpg \"\"\nfile d.jpg \"\"\n"
        "file e.jpg \"E\"\nend\n");
}

/* No header in either place: nothing was skipped on the word of the size. */
static void c15_what_stands_behind_a_link_is_looked_at(void **state)
{
    made_tar t = {0};
    (void)state;

    text_of(&t, "a.jpg", 'A', 700);
    tar_put_head(&t, &(tar_head){.name = "b.jpg", .type = '1', .link = "a.jpg", .size = 700});
    for (int i = 0; i < 256; i++)
        tar_put(&t, "JUNKJUNK", 8);
    expect_story(&t, "file a.jpg 700*A\nhard b.jpg -> a.jpg 700*A\nSTK_ECORRUPT 2048 \n");

    text_of(&t, "a.jpg", 'A', 700);
    tar_put_head(&t, &(tar_head){.name = "b.jpg", .type = '1', .link = "a.jpg", .size = 700});
    tar_put(&t, (char[10240]){0}, 10240);
    tar_put(&t, "junk", 4);
    expect_story(&t, "file a.jpg 700*A\nhard b.jpg -> a.jpg 700*A\nend after-end@12288\n");
}

static void c15_a_link_that_carries_its_data(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_put_head(&t, &(tar_head){.name = "b.jpg", .type = '1', .link = "gone.jpg", .size = 700});
    tar_put(&t, memset((char[700]){0}, 'B', 700), 700);
    tar_pad(&t);
    tar_text(&t, "c.jpg", "C");
    tar_end(&t);
    expect_story(&t, "hard b.jpg -> gone.jpg 700*B\nfile c.jpg \"C\"\nend\n");
}

static void c15_sizes_of_folders_and_last_links_mean_nothing(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_text(&t, "a.jpg", "A");
    tar_put_head(&t, &(tar_head){.name = "d/", .type = '5', .size = 4096});
    tar_put_head(&t, &(tar_head){.name = "e/", .type = '5', .size_field = "not a number"});
    tar_put_head(&t, &(tar_head){.name = "b.jpg", .type = '1', .link = "a.jpg", .size = 700});
    tar_end(&t);
    expect_story(&t, "file a.jpg \"A\"\nfolder d/\nfolder e/\nhard b.jpg -> a.jpg \"A\"\nend\n");
}

static void c16_cut_in_the_middle_of_data(void **state)
{
    made_tar t = {0};
    (void)state;

    four(&t);
    t.size = 512 * 3 * 2 + 512 + 100;
    expect_story(&t, "file k0.bin 700*A\nfile k1.bin 700*B\nSTK_ECORRUPT 3072 k2.bin\n");
}

static void c17_cut_between_members(void **state)
{
    made_tar t = {0};
    (void)state;

    four(&t);
    t.size = 512 * 3 * 2;
    expect_story(&t, "file k0.bin 700*A\nfile k1.bin 700*B\nend no-end-marker\n");
}

static void c17_cut_inside_a_header(void **state)
{
    made_tar t = {0};
    (void)state;

    four(&t);
    t.size = 512 * 3 * 2 + 100;
    expect_story(&t, "file k0.bin 700*A\nfile k1.bin 700*B\nSTK_ECORRUPT 3072 \n");
}

static void c17_cut_inside_padding(void **state)
{
    made_tar t = {0};
    (void)state;

    four(&t);
    t.size = 512 * 3 * 2 - 100;
    expect_story(&t, "file k0.bin 700*A\nfile k1.bin 700*B\nSTK_ECORRUPT 2972 \n");
}

static void c17_whole_without_end_marker(void **state)
{
    made_tar t = {0};
    (void)state;

    four(&t);
    expect_story(&t, FOUR "end no-end-marker\n");
    four(&t);
    tar_put(&t, (char[512]){0}, 512);
    expect_story(&t, FOUR "end no-end-marker\n");
}

static void c17_cut_behind_an_extended_header(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_text(&t, "a.jpg", "A");
    tar_pax(&t, 'x', "path", "b.jpg");
    expect_story(&t, "file a.jpg \"A\"\nSTK_ECORRUPT 1024 \n");
    tar_text(&t, "a.jpg", "A");
    tar_pax(&t, 'x', "path", "b.jpg");
    tar_end(&t);
    expect_story(&t, "file a.jpg \"A\"\nSTK_ECORRUPT 1024 \n");
    tar_text(&t, "a.jpg", "A");
    tar_pax(&t, 'g', "comment", "about all, so it may stand last");
    tar_end(&t);
    expect_story(&t, "file a.jpg \"A\"\nend\n");
}

static void c19_concatenated_archives(void **state)
{
    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    tar_story *story = malloc(sizeof *story);
    char *folder = make_temp_folder();
    made_tar t = {0};
    (void)state;

    four(&t);
    tar_end(&t);
    tar_text(&t, "late.bin", "x");
    tar_end(&t);
    read_tar_with(story, in_folder(folder, "t.tar"), &t, options);
    assert_string_equal(story->text, FOUR "end after-end@7168\n");
    options.concatenated = true;
    read_tar_with(story, in_folder(folder, "t.tar"), &t, options);
    assert_string_equal(story->text, FOUR "file late.bin \"x\"\nend\n");
    tar_put(&t, "junk", 4);
    read_tar_with(story, in_folder(folder, "t.tar"), &t, options);
    assert_string_equal(story->text, FOUR "file late.bin \"x\"\nend after-end@9216\n");
    tar_free(&t);
    free(story);
    remove_tree(folder);
}

/* What a global header says ends with its archive. */
static void c19_global_records_end_with_their_archive(void **state)
{
    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    tar_story *story = malloc(sizeof *story);
    char *folder = make_temp_folder();
    made_tar t = {0};
    (void)state;

    tar_pax(&t, 'g', "path", "global.jpg");
    tar_text(&t, "a.jpg", "x");
    tar_end(&t);
    tar_text(&t, "b.jpg", "y");
    tar_end(&t);
    options.concatenated = true;
    read_tar_with(story, in_folder(folder, "t.tar"), &t, options);
    assert_string_equal(story->text, "file global.jpg \"x\"\nfile b.jpg \"y\"\nend\n");
    tar_free(&t);
    free(story);
    remove_tree(folder);
}

static void c20_junk_behind_the_end(void **state)
{
    made_tar t = {0};
    (void)state;

    four(&t);
    tar_end(&t);
    tar_put(&t, (char[512 * 5 + 7]){0}, 512 * 5 + 7);
    for (int i = 0; i < 200; i++)
        tar_put(&t, "JUNKJUNK", 8);
    expect_story(&t, FOUR "end after-end@9735\n");
}

static void c20_junk_in_place_of_the_end(void **state)
{
    made_tar t = {0};
    (void)state;

    four(&t);
    for (int i = 0; i < 128; i++)
        tar_put(&t, "JUNKJUNK", 8);
    expect_story(&t, FOUR "STK_ECORRUPT 6144 \n");
}

static void c20_a_lone_zero_block(void **state)
{
    made_tar t = {0};
    (void)state;

    text_of(&t, "k0.bin", 'A', 700);
    tar_put(&t, (char[512]){0}, 512);
    text_of(&t, "k1.bin", 'B', 700);
    tar_end(&t);
    expect_story(&t, "file k0.bin 700*A\nfile k1.bin 700*B\nend lone-zero-block\n");

    text_of(&t, "k0.bin", 'A', 700);
    tar_put(&t, (char[512]){0}, 512);
    for (int i = 0; i < 128; i++)
        tar_put(&t, "JUNKJUNK", 8);
    expect_story(&t, "file k0.bin 700*A\nSTK_ECORRUPT 2048 \n");
}

static void c20_a_damaged_header(void **state)
{
    made_tar t = {0};
    (void)state;

    four(&t);
    t.data[1536 + 7] ^= 1;
    expect_story(&t, "file k0.bin 700*A\nSTK_ECORRUPT 1536 \n");
}

static void c21_empty_file_and_empty_archive(void **state)
{
    made_tar t = {0};
    (void)state;

    expect_story(&t, "STK_ECORRUPT 0 \n");
    tar_put(&t, (char[10240]){0}, 10240);
    expect_story(&t, "end\n");
    tar_put(&t, (char[512]){0}, 512);
    expect_story(&t, "end no-end-marker\n");
    tar_put(&t, (char[100]){0}, 100);
    expect_story(&t, "end no-end-marker\n");
}

static void c26_names_are_bytes(void **state)
{
    char records[256];
    size_t size;
    made_tar t = {0};
    (void)state;

    tar_text(&t, "caf\xe9.jpg", "x");
    tar_text(&t, "caf\xc3\xa9.jpg", "y");
    tar_text(&t, "cafe\xcc\x81.jpg", "z");
    size = tar_pax_record(records, sizeof records, "hdrcharset", "BINARY", 6);
    size += tar_pax_record(records + size, sizeof records - size, "path", "CAF\xe9.jpg", 8);
    tar_extended(&t, 'x', records, size);
    tar_text(&t, "caf_.jpg", "b");
    tar_pax(&t, 'x', "path", "a=b\nc.jpg");
    tar_text(&t, "short.jpg", "n");
    tar_end(&t);
    expect_story(&t,
        "file caf\xe9.jpg \"x\"\nfile caf\xc3\xa9.jpg \"y\"\nfile cafe\xcc\x81.jpg \"z\"\n"
        "file CAF\xe9.jpg \"b\"\nfile a=b\nc.jpg \"n\"\nend\n");
}

static void c27_broken_pax_records(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_text(&t, "a.jpg", "A");
    tar_extended(&t, 'x', "999 path=zzz.jpg\n", 17);
    tar_text(&t, "foo.jpg", "x");
    tar_end(&t);
    expect_story(&t, "file a.jpg \"A\"\nSTK_ECORRUPT 1536 \n");
}

static void c37_an_empty_member_is_there(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_text(&t, "a.jpg", "");
    tar_text(&t, "a.cls", "3");
    tar_end(&t);
    expect_story(&t, "file a.jpg \"\"\nfile a.cls \"3\"\nend\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c01_pax_headers_before_every_member),
        cmocka_unit_test(c02_global_pax_header_first),
        cmocka_unit_test(c03_names_over_100_bytes_in_three_encodings),
        cmocka_unit_test(c04_name_field_of_exactly_100_bytes),
        cmocka_unit_test(c06_base_256_sizes),
        cmocka_unit_test(c06_a_member_over_8_gib_is_stepped_over),
        cmocka_unit_test(c07_pax_size_overrides_the_header),
        cmocka_unit_test(c08_nonsense_sizes),
        cmocka_unit_test(c08_a_size_near_2_63),
        cmocka_unit_test(c09_v7_headers),
        cmocka_unit_test(c09_no_prefix_without_posix_magic),
        cmocka_unit_test(c09_sizes_with_spaces),
        cmocka_unit_test(c09_contiguous_and_unknown_types),
        cmocka_unit_test(c10_old_gnu_sparse_is_refused_by_name),
        cmocka_unit_test(c10_pax_sparse_is_refused_by_its_real_name),
        cmocka_unit_test(c11_folders_and_dot_slash),
        cmocka_unit_test(c14_hard_links_lead_to_data),
        cmocka_unit_test(c14_a_link_leads_to_the_last_member_of_that_name),
        cmocka_unit_test(c14_a_link_with_a_long_target),
        cmocka_unit_test(c15_a_link_that_states_a_size_without_data),
        cmocka_unit_test(c15_the_nearest_header_counts),
        cmocka_unit_test(c15_what_stands_behind_a_link_is_looked_at),
        cmocka_unit_test(c15_a_link_that_carries_its_data),
        cmocka_unit_test(c15_sizes_of_folders_and_last_links_mean_nothing),
        cmocka_unit_test(c16_cut_in_the_middle_of_data),
        cmocka_unit_test(c17_cut_between_members),
        cmocka_unit_test(c17_cut_inside_a_header),
        cmocka_unit_test(c17_cut_inside_padding),
        cmocka_unit_test(c17_whole_without_end_marker),
        cmocka_unit_test(c17_cut_behind_an_extended_header),
        cmocka_unit_test(c19_concatenated_archives),
        cmocka_unit_test(c19_global_records_end_with_their_archive),
        cmocka_unit_test(c20_junk_behind_the_end),
        cmocka_unit_test(c20_junk_in_place_of_the_end),
        cmocka_unit_test(c20_a_lone_zero_block),
        cmocka_unit_test(c20_a_damaged_header),
        cmocka_unit_test(c21_empty_file_and_empty_archive),
        cmocka_unit_test(c26_names_are_bytes),
        cmocka_unit_test(c27_broken_pax_records),
        cmocka_unit_test(c37_an_empty_member_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
