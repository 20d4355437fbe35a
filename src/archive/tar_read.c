/*
 * From headers to members: the reader's step.
 *
 * A member is any number of extended headers (pax, GNU), one header, and its data. Names are views
 * of the window where they can be; they are copied only when the window has to move on before the
 * member is handed out. Every size is held against the length of the file before it is used.
 *
 * A failed reader stays failed: what stands behind damage cannot be told from data.
 */
#include "archive/tar_read.h"

#include "archive/tar_int.h"
#include "archive/tar_number.h"
#include "base/error.h"

/* Stepping over this much is cheaper than reading it. */
#define SKIP_BYTES ((uint64_t)256 << 10)

static uint64_t file_size(const stk_tar *tar)
{
    return tar->window.source.size_bytes;
}

static stk_status block_at(stk_tar *tar, uint64_t offset, const uint8_t **block_out, stk_error *err)
{
    return stk__tar_window_get(&tar->window, offset, STK__TAR_BLOCK, block_out, err);
}

/* --- The end, and what else may stand where a header is expected --- */

/* Less than a block is left. */
static stk_status at_file_end(stk_tar *tar, stk_error *err)
{
    const uint8_t *bytes;
    uint64_t left;

    if (tar->next > file_size(tar))
        return STK_FAIL_AT(err, STK_ECORRUPT, file_size(tar),
            "the file ended inside the padding behind the last member");
    left = file_size(tar) - tar->next;
    if (left > 0) {
        STK_TRY(stk__tar_window_get(&tar->window, tar->next, left, &bytes, err));
        if (!stk__tar_is_zero(bytes, (size_t)left))
            return stk__tar_refuse(bytes, (size_t)left, tar->next, err);
    }
    tar->notes.no_end_marker = true;
    return STK_END;
}

/* The end marker stands before `offset`: is there more than padding behind it? */
static stk_status at_end_marker(
    stk_tar *tar, uint64_t offset, const uint8_t **block_out, stk_error *err)
{
    const uint8_t *bytes;
    size_t size, at = 0;

    for (;; offset += size) {
        size = (size_t)stk__u64_min(STK__TAR_BLOCK, file_size(tar) - offset);
        if (size == 0)
            return STK_END;
        STK_TRY(stk__tar_window_get(&tar->window, offset, size, &bytes, err));
        if (!stk__tar_is_zero(bytes, size))
            break;
    }
    if (tar->concatenated && size == STK__TAR_BLOCK && stk__tar_head_valid(bytes)) {
        stk__pax_reset(&tar->global); /* another archive begins: nothing was said about it */
        tar->next = offset;
        *block_out = bytes;
        return STK_OK;
    }
    while (bytes[at] == 0)
        at++;
    tar->notes.data_after_end = true;
    tar->notes.after_offset = offset + at;
    return STK_END;
}

/* A zero block stands at `next`: the first of an end marker, the last of the file, or alone. */
static stk_status at_zero_block(stk_tar *tar, const uint8_t **block_out, stk_error *err)
{
    uint64_t after = tar->next + STK__TAR_BLOCK;

    if (file_size(tar) - after < STK__TAR_BLOCK) {
        tar->next = after;
        return at_file_end(tar, err);
    }
    STK_TRY(block_at(tar, after, block_out, err));
    if (stk__tar_is_zero(*block_out, STK__TAR_BLOCK))
        return at_end_marker(tar, after + STK__TAR_BLOCK, block_out, err);
    if (!stk__tar_head_valid(*block_out))
        return stk__tar_refuse(*block_out, STK__TAR_BLOCK, after, err);
    tar->notes.lone_zero_block = true;
    tar->next = after;
    return STK_OK;
}

/* The header that comes next; STK_END when there is none. */
static stk_status find_head(stk_tar *tar, const uint8_t **block_out, stk_error *err)
{
    bool in_file = tar->next <= file_size(tar) && file_size(tar) - tar->next >= STK__TAR_BLOCK;

    if (STK__LIKELY(in_file)) {
        STK_TRY(block_at(tar, tar->next, block_out, err));
        if (STK__LIKELY(stk__tar_head_valid(*block_out)))
            return STK_OK;
        if (!stk__tar_is_zero(*block_out, STK__TAR_BLOCK))
            return stk__tar_refuse(*block_out, STK__TAR_BLOCK, tar->next, err);
    }
    if (tar->extended)
        return STK_FAIL_AT(err, STK_ECORRUPT, tar->extended_offset,
            "the archive ended after an extended header, before its member");
    return in_file ? at_zero_block(tar, block_out, err) : at_file_end(tar, err);
}

/* --- Extended headers --- */

/* Are `size` bytes of data there? Sizes are under 2^63 and offsets inside the file: no wrap. */
static stk_status check_range(const stk_tar *tar, uint64_t size, stk_error *err)
{
    uint64_t have = file_size(tar) - (tar->next + STK__TAR_BLOCK);

    if (size <= have)
        return STK_OK;
    return STK_FAIL_AT(err, STK_ECORRUPT, tar->next,
        "data cut short: the header says %llu bytes, the file has %llu more",
        (unsigned long long)size, (unsigned long long)have);
}

static stk_status bad_size(const stk_tar *tar, stk_error *err)
{
    return STK_FAIL_AT(
        err, STK_ECORRUPT, tar->next, "bad size in the tar header: no number from 0 to 2^63 - 1");
}

/* GNU: the data is the name, ended by a NUL. */
static stk_status keep_long(
    stk_tar *tar, stk__tar_text *text, bool *has, stk_view data, stk_error *err)
{
    data.size = data.size > 0 ? strnlen(data.data, data.size) : 0;
    *has = data.size > 0;
    if (!stk__tar_text_set(tar->heap, text, data))
        return STK_FAIL(err, STK_ENOMEM, "no memory for a name of %zu bytes", data.size);
    return STK_OK;
}

static bool is_extended(uint8_t type)
{
    switch (type) {
    case 'L': /* GNU: name of the next member */
    case 'K': /* GNU: its link */
    case 'x': /* pax: records for the next member */
    case 'X': /* the same, by an old Solaris */
    case 'g': /* pax: records for all members to come */
        return true;
    default:
        return false;
    }
}

static stk_status read_extended(stk_tar *tar, const stk__tar_head *head, stk_error *err)
{
    uint64_t data_at = tar->next + STK__TAR_BLOCK;
    uint8_t type = head->type; /* the head goes when the window moves */
    stk_view data = {"", 0};
    const uint8_t *bytes;
    uint64_t size;

    if (!stk__tar_number(head->size, &size))
        return bad_size(tar, err);
    STK_TRY(check_range(tar, size, err));
    if (size > tar->limits.max_header_bytes)
        return STK_FAIL_AT(err, STK_ELIMIT, tar->next,
            "extended tar header of %llu bytes; max_header_bytes is %llu", (unsigned long long)size,
            (unsigned long long)tar->limits.max_header_bytes);
    if (size > 0) {
        STK_TRY(stk__tar_window_get(&tar->window, data_at, size, &bytes, err));
        data = (stk_view){bytes, (size_t)size};
    }
    if (type != 'g' && !tar->extended) {
        tar->extended = true;
        tar->extended_offset = tar->next;
    }
    tar->next = stk__u64_align(data_at + size, STK__TAR_BLOCK);
    if (type == 'L')
        return keep_long(tar, &tar->long_name, &tar->has_long_name, data, err);
    if (type == 'K')
        return keep_long(tar, &tar->long_link, &tar->has_long_link, data, err);
    return stk__pax_read(tar->heap, type == 'g' ? &tar->global : &tar->local, data, data_at, err);
}

static void forget_extended(stk_tar *tar)
{
    tar->extended = tar->has_long_name = tar->has_long_link = false;
    stk__pax_reset(&tar->local);
}

/* --- Names --- */

static stk_status join(stk_tar *tar, const stk__tar_head *head, stk_view *name_out, stk_error *err)
{
    if (!stk__tar_text_set(tar->heap, &tar->name, head->prefix) ||
        !stk__tar_text_add(tar->heap, &tar->name, (stk_view){"/", 1}) ||
        !stk__tar_text_add(tar->heap, &tar->name, head->name))
        return STK_FAIL(err, STK_ENOMEM, "no memory for a name of 256 bytes");
    *name_out = stk__tar_text_view(&tar->name);
    return STK_OK;
}

/* The most particular of what is known: pax, then GNU, then the header itself. */
static stk_status find_name(
    stk_tar *tar, const stk__tar_head *head, stk_view *name_out, stk_error *err)
{
    if (tar->local.has_sparse_name)
        *name_out = stk__tar_text_view(&tar->local.sparse_name);
    else if (tar->local.has_path)
        *name_out = stk__tar_text_view(&tar->local.path);
    else if (tar->has_long_name)
        *name_out = stk__tar_text_view(&tar->long_name);
    else if (tar->global.has_path)
        *name_out = stk__tar_text_view(&tar->global.path);
    else if (head->prefix.size > 0)
        return join(tar, head, name_out, err);
    else
        *name_out = head->name;
    return STK_OK;
}

static stk_view find_link(const stk_tar *tar, const stk__tar_head *head)
{
    if (tar->local.has_link)
        return stk__tar_text_view(&tar->local.link);
    if (tar->has_long_link)
        return stk__tar_text_view(&tar->long_link);
    if (tar->global.has_link)
        return stk__tar_text_view(&tar->global.link);
    return head->link;
}

/* Take a view out of the window, which is about to move. */
static stk_status take_out(stk_tar *tar, stk__tar_text *text, stk_view *view, stk_error *err)
{
    uintptr_t at = (uintptr_t)view->data - (uintptr_t)tar->window.buffer;

    if (at >= tar->window.capacity)
        return STK_OK; /* stands in a text already */
    if (!stk__tar_text_set(tar->heap, text, *view))
        return STK_FAIL(err, STK_ENOMEM, "no memory for a name of %zu bytes", view->size);
    *view = stk__tar_text_view(text);
    return STK_OK;
}

static stk_status take_names_out(stk_tar *tar, stk_member *member, stk_error *err)
{
    STK_TRY(take_out(tar, &tar->name, &member->name, err));
    return take_out(tar, &tar->link, &member->link, err);
}

/* --- Links --- */

/*
 * Fill the table of targets with the members before `limit`, by reading their headers again.
 *
 * To the second reader the file ends at `limit`, where the first hard link stands, so it meets none
 * and reads no further.
 */
static stk_status collect_targets(stk_tar *tar, uint64_t limit, stk_error *err)
{
    stk__tar_source before = tar->window.source;
    const stk_tar_options options = {
        .struct_bytes = sizeof options,
        .concatenated = tar->concatenated,
        .limits = &tar->limits,
    };
    stk_tar *scan = NULL;
    stk_member member = {0};
    stk_status st;

    tar->links.ready = true;
    if (limit == 0)
        return STK_OK;
    before.size_bytes = limit;
    st = stk__tar_open_source(tar->heap, &before, tar->path, &options, &scan, err);
    while (st == STK_OK) {
        st = stk_tar_next(scan, &member, err);
        if (st == STK_OK && member.kind == STK_MEMBER_FILE &&
            !stk__tar_links_put(
                tar->heap, &tar->links, member.name, member.data_offset, member.size_bytes))
            st = STK_FAIL(err, STK_ENOMEM, "no memory for the targets of hard links");
    }
    stk_tar_close(scan);
    return st < 0 ? st : STK_OK;
}

static stk_status resolve_link(stk_tar *tar, stk_member *member, stk_error *err)
{
    const stk__tar_target *target;

    if (!tar->links.ready)
        STK_TRY(collect_targets(tar, member->header_offset, err));
    target = stk__tar_links_find(&tar->links, member->link);
    if (target == NULL) {
        tar->notes.skipped_links++;
        member->data_offset = 0;
        return STK_OK;
    }
    member->data_offset = target->data_offset;
    member->size_bytes = target->size_bytes;
    return STK_OK;
}

/* --- Members --- */

/* What kind a type byte stands for, and whether data follows as its size says. */
static stk_member_kind kind_of(uint8_t type, stk_view name, bool *sized_out)
{
    bool folder = name.size > 0 && ((const char *)name.data)[name.size - 1] == '/';

    *sized_out = false;
    switch (type) {
    case '0':
    case '\0':
    case '7':
        if (folder) /* v7 has no other way to say it */
            return STK_MEMBER_FOLDER;
        *sized_out = true;
        return STK_MEMBER_FILE;
    case '1':
        return STK_MEMBER_HARD_LINK;
    case '2':
        return STK_MEMBER_SYMBOLIC_LINK;
    case '5':
        return STK_MEMBER_FOLDER;
    case '3': /* character device */
    case '4': /* block device */
    case '6': /* named pipe */
        return STK_MEMBER_OTHER;
    case 'D': /* GNU: a folder, and as its data the names in it */
        *sized_out = true;
        return STK_MEMBER_FOLDER;
    default:
        *sized_out = true;
        return STK_MEMBER_OTHER;
    }
}

static bool find_size(const stk_tar *tar, const stk__tar_head *head, uint64_t *size_out)
{
    if (tar->local.has_size)
        *size_out = tar->local.size;
    else if (tar->global.has_size)
        *size_out = tar->global.size;
    else
        return stk__tar_number(head->size, size_out);
    return true;
}

/*
 * A member whose kind has no data states a size: do that many bytes stand behind it all the same?
 *
 * Most writers mean nothing by it; pax may store the data of a hard link. The next header tells: it
 * stands either here or behind the data.
 */
static stk_status is_data_behind(
    stk_tar *tar, uint64_t at, uint64_t size, bool *behind_out, stk_error *err)
{
    uint64_t left = file_size(tar) - at;
    uint64_t after;
    const uint8_t *block;

    *behind_out = false;
    if (left < STK__TAR_BLOCK || size > left - STK__TAR_BLOCK)
        return STK_OK;
    after = stk__u64_align(at + size, STK__TAR_BLOCK);
    if (after > file_size(tar) - STK__TAR_BLOCK)
        return STK_OK;
    STK_TRY(stk__tar_window_get_aside(&tar->window, at, STK__TAR_BLOCK, &block, err));
    if (stk__tar_head_valid(block))
        return STK_OK;
    STK_TRY(stk__tar_window_get_aside(&tar->window, after, STK__TAR_BLOCK, &block, err));
    *behind_out = stk__tar_head_valid(block);
    return STK_OK;
}

/* A link, a folder, a device. */
static stk_status step_over_unsized(
    stk_tar *tar, const stk__tar_head *head, stk_member *member, stk_error *err)
{
    uint64_t size = 0;
    bool behind = false;

    if (!find_size(tar, head, &size))
        size = 0; /* nothing depends on it */
    if (size > 0)
        STK_TRY(is_data_behind(tar, member->data_offset, size, &behind, err));
    tar->next = member->data_offset;
    if (behind)
        tar->next = stk__u64_align(member->data_offset + size, STK__TAR_BLOCK);
    if (member->kind != STK_MEMBER_HARD_LINK)
        return STK_OK;
    if (!behind)
        return resolve_link(tar, member, err);
    member->size_bytes = size;
    return STK_OK;
}

/* A file, or a member of an unknown kind. */
static stk_status step_over_sized(
    stk_tar *tar, const stk__tar_head *head, stk_member *member, stk_error *err)
{
    uint64_t size;

    if (!find_size(tar, head, &size))
        return bad_size(tar, err);
    STK_TRY(check_range(tar, size, err));
    if (member->kind == STK_MEMBER_FILE)
        member->size_bytes = size;
    tar->next = stk__u64_align(member->data_offset + size, STK__TAR_BLOCK);
    if (!tar->data && size >= SKIP_BYTES)
        stk__tar_window_far(&tar->window);
    return STK_OK;
}

/* The bytes of a file, or of a link that leads to one. */
static stk_status read_data(stk_tar *tar, stk_member *member, stk_error *err)
{
    const uint8_t *bytes;

    if (member->size_bytes > tar->limits.max_member_bytes)
        return STK_FAIL_AT(err, STK_ELIMIT, member->header_offset,
            "member of %llu bytes; max_member_bytes is %llu",
            (unsigned long long)member->size_bytes,
            (unsigned long long)tar->limits.max_member_bytes);
    member->data = (stk_view){"", 0};
    if (member->size_bytes == 0)
        return STK_OK;
    if (!stk__tar_window_holds(&tar->window, member->data_offset, member->size_bytes))
        STK_TRY(take_names_out(tar, member, err));
    if (member->kind == STK_MEMBER_HARD_LINK)
        STK_TRY(stk__tar_window_get_aside(
            &tar->window, member->data_offset, member->size_bytes, &bytes, err));
    else
        STK_TRY(stk__tar_window_get(
            &tar->window, member->data_offset, member->size_bytes, &bytes, err));
    member->data = (stk_view){bytes, (size_t)member->size_bytes};
    return STK_OK;
}

static bool has_data(const stk_member *member)
{
    return member->kind == STK_MEMBER_FILE ||
           (member->kind == STK_MEMBER_HARD_LINK && member->data_offset != 0);
}

/* Remember a member that links to come may lead to. */
static stk_status remember(stk_tar *tar, const stk_member *member, stk_error *err)
{
    if (!tar->links.ready || stk__tar_links_put(tar->heap, &tar->links, member->name,
                                 member->data_offset, member->size_bytes))
        return STK_OK;
    return STK_FAIL(err, STK_ENOMEM, "no memory for the targets of hard links");
}

static stk_status read_member(
    stk_tar *tar, const stk__tar_head *head, stk_member *member, stk_error *err)
{
    bool sized;

    *member = (stk_member){
        .header_offset = tar->extended ? tar->extended_offset : tar->next,
        .data_offset = tar->next + STK__TAR_BLOCK,
    };
    STK_TRY(find_name(tar, head, &member->name, err));
    if (head->type == 'S' || tar->local.sparse || tar->global.sparse)
        return STK_FAIL_AT(err, STK_ENOTSUP, member->header_offset,
            "sparse member: its holes are not stored; write the archive without them (tar without "
            "--sparse)");
    member->kind = kind_of(head->type, member->name, &sized);
    if (member->kind == STK_MEMBER_HARD_LINK || member->kind == STK_MEMBER_SYMBOLIC_LINK)
        member->link = find_link(tar, head);
    if (sized)
        STK_TRY(step_over_sized(tar, head, member, err));
    else
        STK_TRY(step_over_unsized(tar, head, member, err));
    tar->notes.skipped_links += member->kind == STK_MEMBER_SYMBOLIC_LINK;
    tar->notes.skipped_others += member->kind == STK_MEMBER_OTHER;
    if (!has_data(member))
        return STK_OK;
    STK_TRY(remember(tar, member, err));
    return tar->data ? read_data(tar, member, err) : STK_OK;
}

static stk_status next_member(stk_tar *tar, stk_member *member, stk_error *err)
{
    const uint8_t *block = NULL;
    stk__tar_head head;
    stk_status st;

    if (tar->extended)
        forget_extended(tar);
    for (;;) {
        st = find_head(tar, &block, err);
        if (st != STK_OK)
            return st;
        stk__tar_head_read(block, &head);
        if (STK__LIKELY(!is_extended(head.type)))
            return read_member(tar, &head, member, err);
        STK_TRY(read_extended(tar, &head, err));
    }
}

stk_status stk_tar_next(stk_tar *tar, stk_member *member_out, stk_error *err)
{
    stk_member member = {0};
    stk_status st;

    if (tar->state == STK__TAR_READING) {
        st = next_member(tar, &member, &tar->failure);
        if (STK__LIKELY(st == STK_OK)) {
            *member_out = member;
            return STK_OK;
        }
        tar->state = st == STK_END ? STK__TAR_ENDED : STK__TAR_FAILED;
        STK_IGNORE(
            stk__error_in(st,
                &(stk__place){.stage = STK_STAGE_MEMBER, .source = tar->path, .key = member.name},
                &tar->failure) != st); /* returns what it is given */
    }
    if (tar->state == STK__TAR_ENDED)
        return STK_END;
    if (err != NULL)
        *err = tar->failure;
    return tar->failure.status;
}
