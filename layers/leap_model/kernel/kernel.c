/* The sum of each row's leaves, for every output of a forest.
 *
 * leap_model/trees.py says what a forest is, and adds the same numbers in the same order: all ways
 * give the same bits. docs/serving.md says why they are fast. It needs no library, not even C's.
 *
 * Rows are taken 64 at a time, and a set of rows is a word of 64 bits. Which of them a question
 * sends left is worked out once, not once a node: candidates of a job share most columns.
 */

#include "forest.h"
#include "questions.h"
#include "scratch.h"
#include "descent.h"
#include "quickscorer.h"

EXPORTED uint64_t leap_forest_bytes(void) { return sizeof(Forest); }

EXPORTED uint64_t leap_stamp(void) { return LEAP_STAMP; }

/* Bytes of memory, aligned as numbers are, that leap_score needs. */
EXPORTED uint64_t leap_scratch_bytes(const Forest *forest) {
    Scratch scratch;
    return lay_out(forest, &scratch, 0);
}

/* Scores of (rows, n_inputs) values into (rows, n_outputs); the forest was checked. */
EXPORTED void leap_score(
    const Forest *forest, const double *matrix, uint64_t rows, double *scores, uint8_t *memory
) {
    Scratch scratch;
    lay_out(forest, &scratch, memory);
    uint64_t inputs = forest->n_inputs, outputs = forest->n_outputs;
    for (uint64_t from = 0; from < rows; from += ROWS) {
        uint32_t n = rows - from < ROWS ? (uint32_t)(rows - from) : ROWS;
        uint64_t all = n == ROWS ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1;
        const double *block = matrix + from * inputs;
        find_varying(forest, scratch.varies, block, n);
        for (uint64_t output = 0; output < outputs; output++)
            for (uint32_t row = 0; row < n; row++)
                scratch.sums[output * ROWS + row] = forest->baseline[output];
        if (forest->lane_bits == 32 || (forest->lane_bits == 64 && n <= MOST_WIDE_LANES))
            add_by_question(forest, &scratch, block, n, all);
        else
            add_by_descent(forest, &scratch, block, n, all);
        for (uint32_t row = 0; row < n; row++)
            for (uint64_t output = 0; output < outputs; output++)
                scores[(from + row) * outputs + output] = scratch.sums[output * ROWS + row];
    }
}

/* Whether every split parts its tree's leaves and asks a question that there is. `pending` has room
 * for as many sizes as the largest tree has leaves. The small tables were checked before. */
EXPORTED uint64_t leap_splits_are_sound(const Forest *forest, uint32_t *pending) {
    for (uint64_t tree = 0; tree < forest->n_trees; tree++) {
        uint64_t split = forest->first_leaf[tree] - tree;
        uint32_t leaves = forest->first_leaf[tree + 1] - forest->first_leaf[tree];
        uint32_t sets = forest->first_set[tree + 1] - forest->first_set[tree];
        uint64_t waiting = 0;
        while (leaves > 1) {
            uint32_t question, k;
            read_node(forest, forest->wide != 0, split++, &question, &k);
            if (k < 1 || k >= leaves)
                return 0;
            if (question >= forest->n_edges && question - forest->n_edges >= sets)
                return 0;
            /* The left part's splits come next, then the right part's. */
            uint32_t right = leaves - k;
            if (k > 1) {
                if (right > 1)
                    pending[waiting++] = right;
                leaves = k;
            } else if (right > 1) {
                leaves = right;
            } else {
                leaves = waiting ? pending[--waiting] : 0;
            }
        }
    }
    return 1;
}
