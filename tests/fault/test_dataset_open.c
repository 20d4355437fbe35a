/* Without these: the one time that memory or a disk fails while a dataset is opened or read, the
 * job dies far from there, leaks a descriptor each epoch, or goes on with half of the samples. */
#include <stoker/dataset.h>

#include "base/fault.h"
#include "support/describe.h"
#include "support/make_tar.h"
#include "support/temp_tree.h"
#include "support/test.h"

/* What a failure of each kind may turn into, besides going on without what failed. */
static const stk_status expected[STK__FAULT_COUNT] = {
    [STK__FAULT_ALLOC] = STK_ENOMEM,
    [STK__FAULT_OPEN] = STK_ESOURCE,
    [STK__FAULT_READ] = STK_ESOURCE,
    [STK__FAULT_WRITE] = STK_ESOURCE,
    [STK__FAULT_MAP] = STK_ESOURCE,
    [STK__FAULT_THREAD] = STK_ENOMEM,
};

/* A dataset in a folder, and how it is opened. */
typedef struct kind {
    const char *name;
    const char *pattern; /* below the folder */
    const char *samples;
    stk_index_mode mode;
    bool fresh; /* no index is there */
} kind;

static const char tar_samples[] = "a x=1 y=2\nb x=3\na x=1 y=2\nb x=3\na x=1 y=2\nb x=3\n";
static const char tree_samples[] = "p/a x=1 #0\np/b x=2 #0\nq/s/c x=3 #1\n";
static const char list_samples[] = "a x=1\nb x=2\n";

static const kind kinds[] = {
    {"tars", "t/{0..2}.tar", tar_samples, STK_INDEX_AUTO, true},
    {"tars", "t/*.tar", tar_samples, STK_INDEX_AUTO, false},
    {"tars", "t", tar_samples, STK_INDEX_REQUIRE, false},
    {"tars", "t/{0..2}.tar", tar_samples, STK_INDEX_REBUILD, true},
    {"tree", "d", tree_samples, STK_INDEX_AUTO, true},
    {"tree", "d", tree_samples, STK_INDEX_AUTO, false},
    {"tree", "d", tree_samples, STK_INDEX_MEMORY, true},
    {"list", "d/p/*.x", list_samples, STK_INDEX_AUTO, true},
};

static int make_place(void **state)
{
    made_tar t = {0};
    char path[600];

    *state = make_temp_folder();
    setenv("XDG_CACHE_HOME", in_folder(*state, "cache"), 1);
    make_folder(in_folder(*state, "t"));
    tar_text(&t, "a.x", "1");
    tar_text(&t, "a.y", "2");
    tar_text(&t, "b.x", "3");
    tar_end(&t);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/t/%d.tar", (char *)*state, i);
        save_file(path, t.data, t.size);
    }
    tar_free(&t);
    make_folder(in_folder(*state, "d"));
    make_folder(in_folder(*state, "d/p"));
    make_folder(in_folder(*state, "d/q"));
    make_folder(in_folder(*state, "d/q/s"));
    save_text(in_folder(*state, "d/p/a.x"), "1");
    save_text(in_folder(*state, "d/p/b.x"), "2");
    save_text(in_folder(*state, "d/q/s/c.x"), "3");
    return 0;
}

static int remove_place(void **state)
{
    remove_tree(*state);
    return 0;
}

/* The indexes are there, or none is. */
static void prepare(const char *place, const kind *k)
{
    static const char *const indexes[] = {
        "t/0.tar.stoker", "t/1.tar.stoker", "t/2.tar.stoker", "d/.stoker-index"};
    const char *where = in_folder(place, k->pattern);
    stk_dataset *ds;
    char *cache = strdup(in_folder(place, "cache"));

    if (file_exists(cache))
        remove_tree(cache);
    else
        free(cache);
    for (size_t i = 0; i < COUNT_OF(indexes); i++)
        unlink(in_folder(place, indexes[i]));
    if (k->fresh)
        return;
    assert_int_equal(stk_dataset_open(&where, 1, NULL, &ds, NULL), STK_OK);
    stk_dataset_unref(ds);
}

static void check_opened(stk_status st, stk__fault fault, bool struck, const stk_dataset *ds,
    const stk_error *err, const kind *k)
{
    if (st == STK_OK) {
        assert_non_null(ds);
        assert_described(ds, k->samples);
    } else {
        assert_true(struck);
        if (st != expected[fault] && (st != STK_EINDEX || k->mode != STK_INDEX_REQUIRE))
            fail_msg("%s, fault %d: %s", k->name, (int)fault, stk_status_name(st));
        assert_null(ds);
        assert_int_equal(err->status, st);
        assert_true(err->text[0] != '\0');
        assert_true(st == STK_ENOMEM || err->source[0] != '\0');
    }
}

/* Temporary files of a failed writer must be gone. */
static void check_folder(const char *place)
{
    assert_true(count_entries(in_folder(place, "t")) <= 6);
    assert_true(count_entries(in_folder(place, "d")) <= 3);
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

/* With `asking` in a thread of its own, unless that is what fails. */
static void survive_every_fault(void **state, bool asking)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        for (stk__fault fault = 0; fault < STK__FAULT_COUNT; fault++) {
            uint32_t nth = 0;
            bool struck;

            do { /* fail the first of its kind, the second, ... until there is none left to fail */
                stk_dataset_options options = STK_DATASET_OPTIONS_INIT;
                stk_error err = STK_ERROR_INIT;
                stk_dataset *ds = NULL;
                const char *where = in_folder(*state, kinds[i].pattern);
                stk_status st;
                int fds;

                prepare(*state, &kinds[i]);
                options.index = kinds[i].mode;
                options.threads = 3;
                options.stop = asking ? never : NULL;
                fds = fd_count();
                stk__fault_arm(fault, ++nth);
                st = stk_dataset_open(&where, 1, &options, &ds, &err);
                struck = stk__fault_disarm();
                assert_int_equal(fd_count(), fds);
                check_opened(st, fault, struck, ds, &err, &kinds[i]);
                check_folder(*state);
                stk_dataset_unref(ds);
                assert_int_equal(fd_count(), fds);
            } while (struck);
            if (fault == STK__FAULT_ALLOC)
                assert_true(nth > 5); /* it lies on the path at all */
        }
    }
}

static void opening_survives_every_fault(void **state)
{
    survive_every_fault(state, false);
}

static void opening_that_can_be_given_up_survives_too(void **state)
{
    survive_every_fault(state, true);
}

/* A pass and a search, from a dataset that is open. */
static stk_status use(stk_dataset *ds, uint64_t *samples_out, stk_error *err)
{
    stk_scan *scan = NULL;
    stk_sample sample;
    const stk_sample_field *fields;
    const stk_view *data;
    uint64_t found;
    stk_status st = stk_scan_open(ds, 0, stk_dataset_count(ds), &scan, err);

    *samples_out = 0;
    while (st == STK_OK) {
        st = stk_scan_next(scan, &sample, &fields, &data, err);
        if (st == STK_OK)
            ++*samples_out;
    }
    stk_scan_close(scan);
    return st < 0 ? st : stk_dataset_find(ds, (stk_view){"a", 1}, &found, err);
}

static void using_survives_every_fault(void **state)
{
    const kind *k = &kinds[1];
    const char *where = in_folder(*state, k->pattern);

    prepare(*state, k);
    for (stk__fault fault = 0; fault < STK__FAULT_COUNT; fault++) {
        uint32_t nth = 0;
        bool struck;

        do {
            stk_error err = STK_ERROR_INIT;
            stk_dataset *ds = NULL;
            uint64_t samples;
            stk_status st;

            assert_int_equal(stk_dataset_open(&where, 1, NULL, &ds, NULL), STK_OK);
            stk__fault_arm(fault, ++nth);
            st = use(ds, &samples, &err);
            struck = stk__fault_disarm();
            if (st < 0)
                assert_int_equal(st, expected[fault]);
            else
                assert_int_equal(samples, 6);
            assert_int_equal(use(ds, &samples, &err), STK_OK); /* the fault left nothing behind */
            assert_int_equal(samples, 6);
            stk_dataset_unref(ds);
        } while (struck);
        if (fault == STK__FAULT_ALLOC || fault == STK__FAULT_OPEN || fault == STK__FAULT_READ)
            assert_true(nth > 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(opening_survives_every_fault, make_place, remove_place),
        cmocka_unit_test_setup_teardown(
            opening_that_can_be_given_up_survives_too, make_place, remove_place),
        cmocka_unit_test_setup_teardown(using_survives_every_fault, make_place, remove_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
