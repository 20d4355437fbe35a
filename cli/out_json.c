/* What programs read: see out_json.h. */
#include "out_json.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "utf8.h"

/* Writing fails as a whole: whoever opened the file asks ferror() at the end. */
static void put(json *out, const char *text)
{
    if (fputs(text, out->file) < 0)
        return;
}

/* The length of what needs no escape at the start of text. */
static size_t plain_run(const uint8_t *p, size_t size)
{
    size_t at = 0;

    while (at < size) {
        uint32_t c;
        size_t length = utf8_step(p + at, size - at, &c);

        if (length == 0 || c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
            break;
        at += length;
    }
    return at;
}

static void put_string(json *out, stk_view text, bool *clean_out)
{
    const uint8_t *p = text.data;

    put(out, "\"");
    for (size_t at = 0; at < text.size && !ferror(out->file);) {
        size_t run = plain_run(p + at, text.size - at);

        if (run > 0 && fwrite(p + at, 1, run, out->file) != run)
            return;
        at += run;
        if (at >= text.size)
            break;
        if (p[at] >= 0x80) { /* the start of no character */
            *clean_out = false;
            put(out, "\xef\xbf\xbd"); /* U+FFFD */
        } else if (fprintf(out->file, "\\u%04x", p[at]) < 0) {
            return;
        }
        at++;
    }
    put(out, "\"");
}

static void put_base64(json *out, stk_view data)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *p = data.data;

    put(out, "\"");
    for (size_t i = 0; i < data.size; i += 3) {
        size_t here = data.size - i < 3 ? data.size - i : 3;
        uint32_t bits = (uint32_t)p[i] << 16 | (here > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
                        (here > 2 ? (uint32_t)p[i + 2] : 0);
        char four[5] = {digits[bits >> 18], digits[bits >> 12 & 63],
            here > 1 ? digits[bits >> 6 & 63] : '=', here > 2 ? digits[bits & 63] : '=', '\0'};
        put(out, four);
    }
    put(out, "\"");
}

static void put_name(json *out, const char *name)
{
    bool clean = true;

    if (!out->first[out->depth])
        put(out, out->lines[out->depth] ? "," : ", ");
    if (out->lines[out->depth])
        put(out, "\n");
    out->first[out->depth] = false;
    if (name != NULL) {
        put_string(out, (stk_view){name, strlen(name)}, &clean);
        put(out, ": ");
    }
}

static void begin(json *out, const char *name, const char *bracket, bool lines)
{
    put_name(out, name);
    put(out, bracket);
    assert(out->depth + 1 < JSON_DEEPEST);
    out->depth++;
    out->lines[out->depth] = lines;
    out->first[out->depth] = true;
}

static void end(json *out, const char *bracket)
{
    if (out->lines[out->depth] && !out->first[out->depth])
        put(out, "\n");
    put(out, bracket);
    out->depth--;
    if (out->depth == 0)
        put(out, "\n");
}

void json_start(json *out, FILE *file)
{
    *out = (json){.file = file};
    out->first[0] = true;
}

void json_object(json *out, const char *name, bool lines)
{
    begin(out, name, "{", lines);
}

void json_array(json *out, const char *name, bool lines)
{
    begin(out, name, "[", lines);
}

void json_end_object(json *out)
{
    end(out, "}");
}

void json_end_array(json *out)
{
    end(out, "]");
}

void json_view(json *out, const char *name, stk_view text)
{
    bool clean = true;

    put_name(out, name);
    put_string(out, text, &clean);
    if (!clean && name != NULL) {
        char longer[64];

        if (snprintf(longer, sizeof longer, "%s_base64", name) < 0)
            return;
        put_name(out, longer);
        put_base64(out, text);
    }
}

void json_text(json *out, const char *name, const char *text)
{
    if (text != NULL) {
        json_view(out, name, (stk_view){text, strlen(text)});
    } else {
        put_name(out, name);
        put(out, "null");
    }
}

void json_count(json *out, const char *name, uint64_t number)
{
    put_name(out, name);
    if (fprintf(out->file, "%llu", (unsigned long long)number) < 0)
        return;
}

void json_integer(json *out, const char *name, int64_t number)
{
    put_name(out, name);
    if (fprintf(out->file, "%lld", (long long)number) < 0)
        return;
}

void json_real(json *out, const char *name, double number)
{
    put_name(out, name);
    if (!isfinite(number)) {
        put(out, "null");
    } else if (fprintf(out->file, "%.9g", number) < 0) {
        return;
    }
}

void json_bool(json *out, const char *name, bool flag)
{
    put_name(out, name);
    put(out, flag ? "true" : "false");
}

static void text_unless_empty(json *out, const char *name, const char *text)
{
    if (text[0] != '\0')
        json_text(out, name, text);
}

void json_error(json *out, const stk_error *err)
{
    json_text(out, "status", stk_status_name(err->status));
    if (err->sample != UINT64_MAX)
        json_count(out, "sample", err->sample);
    text_unless_empty(out, "shard", err->shard);
    text_unless_empty(out, "key", err->key);
    text_unless_empty(out, "field", err->field);
    if (err->has_offset)
        json_count(out, "offset", err->offset);
    text_unless_empty(out, "source", err->source);
    text_unless_empty(out, "stage", stk_stage_name(err->stage));
    if (err->os_errno != 0)
        json_integer(out, "errno", err->os_errno);
    json_text(out, "text", err->text[0] != '\0' ? err->text : stk_status_text(err->status));
}

void json_failure(const stk_error *err)
{
    json out;

    json_start(&out, stdout);
    json_object(&out, NULL, false);
    json_object(&out, "error", false);
    json_error(&out, err);
    json_end_object(&out);
    json_end_object(&out);
}
