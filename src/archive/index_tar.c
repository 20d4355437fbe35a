/* From a tar file to its index: see index_tar.h. */
#include "archive/index_tar.h"

#include "archive/index_build.h"
#include "base/error.h"
#include "base/size.h"

static stk_status look_at(const char *path, stk__index_source *source_out, stk_error *err)
{
    stk__file file = STK__FILE_NONE;
    stk_status st = stk__file_open(&file, path, err);

    if (st >= 0)
        st = stk__index_source_of(&file, path, source_out, err);
    stk__file_fini(&file);
    return st;
}

static bool is_damage(stk_status st)
{
    return st == STK_ECORRUPT || st == STK_ENOTSUP || st == STK_ELIMIT;
}

/* The end of a shard that is read leniently. */
static stk_status note_damage(stk__index_build *build, const stk_error *damage, stk_error *err)
{
    stk_view name = {damage->key, 0}, key, field;

    while (damage->key[name.size] != '\0')
        name.size++;
    if (stk_name_split(name, &key, &field))
        stk__index_build_drop_sample(build, key);
    return stk__index_build_note(build, STK__NOTE_DAMAGE, damage->offset, err, "%s%s%s",
        damage->text, name.size > 0 ? ": " : "", damage->key);
}

static stk_status add_member(stk__index_build *build, const stk_member *member, stk_error *err)
{
    stk__index_told told = {
        .name = member->name,
        .header = member->header_offset,
        .offset = member->data_offset,
        .size_bytes = member->size_bytes,
    };
    bool link = member->kind == STK_MEMBER_HARD_LINK || member->kind == STK_MEMBER_SYMBOLIC_LINK;

    if (member->kind != STK_MEMBER_FILE && !link)
        return STK_OK;
    if (!stk_name_split(member->name, &told.key, &told.field))
        return STK_OK;
    if (link && (member->kind == STK_MEMBER_SYMBOLIC_LINK || member->data_offset == 0))
        return stk__index_build_note(build, STK__NOTE_LINK, member->header_offset, err,
            "field is a link without data: %.*s to %.*s",
            (int)stk__size_min(member->name.size, 200), (const char *)member->name.data,
            (int)stk__size_min(member->link.size, 200), (const char *)member->link.data);
    return stk__index_build_member(build, &told, err);
}

static stk_status add_members(
    stk__index_build *build, stk_tar *tar, bool lenient, const stk__stop *stop, stk_error *err)
{
    stk_error damage = STK_ERROR_INIT;
    stk_member member;
    stk_status st;

    for (;;) {
        st = stk_tar_next(tar, &member, &damage);
        if (st == STK_END)
            return STK_OK;
        if (st < 0)
            break;
        st = stk__stop_check(stop, err);
        if (st >= 0)
            st = add_member(build, &member, err);
        if (st < 0)
            return st;
    }
    if (lenient && is_damage(st))
        return note_damage(build, &damage, err);
    if (err != NULL)
        *err = damage;
    return st;
}

static stk_status add_notes(stk__index_build *build, const stk_tar *tar, stk_error *err)
{
    stk_tar_notes notes;

    stk_tar_get_notes(tar, &notes);
    if (notes.no_end_marker)
        STK_TRY(
            stk__index_build_note(build, STK__NOTE_ARCHIVE, 0, err, "no end-of-archive marker"));
    if (notes.lone_zero_block)
        STK_TRY(stk__index_build_note(
            build, STK__NOTE_ARCHIVE, 0, err, "a single block of zeros stands between members"));
    if (notes.data_after_end)
        STK_TRY(stk__index_build_note(build, STK__NOTE_ARCHIVE, notes.after_offset, err,
            "data follows the end-of-archive marker and was not read"));
    return STK_OK;
}

static stk_status scan(stk__index_build *build, const char *path, uint32_t flags,
    const stk_limits *limits, const stk__stop *stop, stk_error *err)
{
    const bool lenient = (flags & STK__INDEX_LENIENT) != 0;
    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    stk_error damage = STK_ERROR_INIT;
    stk_tar *tar = NULL;
    stk_status st;

    options.data = false;
    options.concatenated = (flags & STK__INDEX_CONCATENATED) != 0;
    options.limits = limits;
    st = stk_tar_open(path, &options, &tar, &damage);
    if (st == STK_ECORRUPT && lenient)
        return note_damage(build, &damage, err);
    if (st < 0) {
        if (err != NULL)
            *err = damage;
        return st;
    }
    st = add_members(build, tar, lenient, stop, err);
    if (st >= 0)
        st = add_notes(build, tar, err);
    stk_tar_close(tar);
    return st;
}

stk_status stk__index_tar(stk__heap *heap, const char *path, uint32_t flags,
    const stk_limits *limits, const stk__stop *stop, stk__index **index_out, stk_error *err)
{
    stk__index_build *build = NULL;
    stk__index_source before, after;
    stk_status st;

    st = stk__index_build_new(heap, STK__INDEX_TAR, flags, &build, err);
    if (st < 0)
        goto out;
    st = look_at(path, &before, err);
    if (st < 0)
        goto out;
    st = scan(build, path, flags, limits, stop, err);
    if (st < 0)
        goto out;
    st = look_at(path, &after, err);
    if (st >= 0 && !stk__index_source_equal(&before, &after))
        st = STK_FAIL(err, STK_ESOURCE, "the file changed while it was read");
    if (st >= 0)
        st = stk__index_build_finish(build, &before, index_out, err);
out:
    stk__index_build_free(build);
    return stk__error_in(st, &(stk__place){.stage = STK_STAGE_OPEN, .source = path}, err);
}
