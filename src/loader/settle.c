/*
 * Damage of a step, settled when it is handed out, in the order of its rows: so the account, the
 * budget and the fills are the same for any number of threads. See docs/order.md for the laws.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "loader/handle.h"

/* max_error_rate is judged from this many samples on. */
#define RATE_FROM 100u

static void keep(stk_loader *loader, const stk__step *step, const stk_error *why, uint64_t sample,
    uint64_t substitute)
{
    if (loader->account_count == loader->account_room) {
        size_t room = loader->account_room > 0 ? 2 * loader->account_room : 16;
        stk_damage *grown = stk__heap_grow(
            loader->heap, loader->account, loader->account_room, room, sizeof *grown);
        if (grown == NULL)
            return; /* damage_count still counts it */
        loader->account = grown;
        loader->account_room = room;
    }
    loader->account[loader->account_count] = (stk_damage){
        .epoch = step->epoch, .step = step->step, .substitute = substitute, .error = *why};
    loader->account[loader->account_count].error.sample = sample;
    loader->account_count++;
}

/* The budget is spent: from now on every call says so, with the place of the last loss. */
static stk_status refuse(
    stk_loader *loader, const stk_error *why, const stk_error *text, stk_error *err)
{
    loader->budget_spent = true;
    loader->budget_error = *why;
    loader->budget_error.status = STK_EBUDGET;
    memcpy(loader->budget_error.text, text->text, sizeof text->text);
    if (err != NULL)
        *err = loader->budget_error;
    return STK_EBUDGET;
}

/* Enter a loss into the account and hold it against the budget. */
static stk_status enter(stk_loader *loader, const stk__step *step, const stk_error *why,
    uint64_t sample, uint64_t substitute, stk_error *err)
{
    const stk_loader_options *options = &loader->options;
    stk_error text;
    uint64_t seen;

    keep(loader, step, why, sample, substitute);
    loader->damage_count++;
    loader->epoch_damage++;
    seen = loader->epoch_rows + loader->epoch_damage;
    if (loader->damage_count > options->max_errors) {
        stk__error_set(&text, STK_EBUDGET,
            "%llu sample%s damaged, max_errors is %llu; the last: %s",
            (unsigned long long)loader->damage_count, loader->damage_count == 1 ? " is" : "s are",
            (unsigned long long)options->max_errors, why->text);
        return refuse(loader, why, &text, err);
    }
    if (seen >= RATE_FROM &&
        (double)loader->epoch_damage > options->max_error_rate * (double)seen) {
        stk__error_set(&text, STK_EBUDGET,
            "%llu of %llu samples of this epoch are damaged, max_error_rate is %g; the last: %s",
            (unsigned long long)loader->epoch_damage, (unsigned long long)seen,
            options->max_error_rate, why->text);
        return refuse(loader, why, &text, err);
    }
    return STK_OK;
}

/* What happened to a row; its details may be missing when memory ran out. */
static stk_error why_of(const stk__row *row)
{
    stk_error why = STK_ERROR_INIT;

    if (row->error != NULL)
        return *row->error;
    stk__error_set(&why, STK_ENOMEM, "no memory to say what happened to the sample");
    why.sample = row->sample;
    return why;
}

/* Fill a damaged row with the last sample of this rank's epoch not yet used; *filled_out is false
 * when there is none behind the row. */
static stk_status fill_row(
    stk_loader *loader, stk__step *step, size_t nth, bool *filled_out, stk_error *err)
{
    const stk__ranks *ranks = &loader->schedule.ranks;
    stk__worker *worker = stk__window_worker(loader->window);
    stk__epoch *order = stk__window_epoch(loader->window);
    uint64_t own = step->first_nth + nth, total = stk__ranks_total(ranks);
    uint64_t damaged = step->row[nth].sample;
    stk_error why = why_of(&step->row[nth]);

    *filled_out = false;
    stk__epoch_set(order, step->epoch);
    while (!*filled_out) {
        uint64_t from = total - 1 - loader->skipped, sample;
        stk_draw draw;

        loader->skipped++;
        if (from <= own)
            return enter(loader, step, &why, damaged, UINT64_MAX, err);
        sample = stk__epoch_at(order, stk__ranks_position(ranks, from) % ranks->count);
        STK_TRY(enter(loader, step, &why, damaged, sample, err));
        draw = (stk_draw){.seed = loader->schedule.seed, .epoch = step->epoch, .sample = sample};
        if (stk__schedule_knows(&loader->schedule, sample))
            stk__error_set(&why, STK_ECORRUPT, "the sample is listed as damaged");
        else
            *filled_out = stk__worker_row(worker, sample, &draw, step->slot, nth, &why) >= 0;
        damaged = sample; /* if it was: the next one */
    }
    return STK_OK;
}

/* Why a row has no substitute, in front of what is wrong with its own sample. */
static void tell_substitutes(const stk__row *row, stk_error *why)
{
    char own[sizeof why->text];

    memcpy(own, why->text, sizeof own);
    if (row->tried == 0)
        STK_IGNORE(snprintf(why->text, sizeof why->text,
                       "there was no other sample to stand in for a damaged one: %.180s",
                       own) < 0); /* cut at the end; so too below */
    else
        STK_IGNORE(snprintf(why->text, sizeof why->text,
                       "of %u other samples tried, none could stand in for a damaged one: %.180s",
                       row->tried, own) < 0);
}

static bool is_skipped(const stk_loader *loader, const stk__row *row)
{
    return loader->options.on_error == STK_ON_ERROR_SKIP ||
           stk__schedule_knows(&loader->schedule, row->sample);
}

stk_status stk__loader_settle(stk_loader *loader, stk__step *step, size_t *rows_out, stk_error *err)
{
    uint64_t total = stk__ranks_total(&loader->schedule.ranks);
    size_t rows = step->rows;

    for (size_t i = 0; i < rows; i++) {
        const stk__row *row = &step->row[i];
        stk_error why;
        bool filled;

        if (step->first_nth + i >= total - loader->skipped) {
            rows = i; /* from here on everything has filled earlier rows */
            break;
        }
        if (row->bad_field == UINT32_MAX)
            continue;
        why = why_of(row);
        if (row->substitute != UINT64_MAX) { /* STK_ON_ERROR_REPLACE */
            STK_TRY(enter(loader, step, &why, row->sample, row->substitute, err));
            continue;
        }
        if (!is_skipped(loader, row)) {
            if (loader->options.on_error == STK_ON_ERROR_REPLACE)
                tell_substitutes(row, &why);
            if (err != NULL)
                *err = why;
            return why.status;
        }
        STK_TRY(fill_row(loader, step, i, &filled, err));
        if (!filled) {
            rows = i;
            break;
        }
    }
    *rows_out = rows;
    return STK_OK;
}

uint64_t stk_loader_damage_count(stk_loader *loader)
{
    return loader->damage_count;
}

stk_status stk_loader_get_damage(
    stk_loader *loader, uint64_t nth, stk_damage *damage_out, stk_error *err)
{
    if (nth >= loader->account_count)
        return STK_FAIL(err, STK_ERANGE, "loss %llu of %zu that are kept", (unsigned long long)nth,
            loader->account_count);
    *damage_out = loader->account[nth];
    return STK_OK;
}
