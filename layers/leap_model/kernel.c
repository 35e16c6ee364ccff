/* The sum of each row's leaves, for every output of a forest.
 *
 * leap_model/trees.py says what a forest is, and adds the same numbers in the same order: both give
 * the same bits. docs/serving.md says why this is fast. It needs no library, not even C's: memory
 * comes from the caller, and only from it.
 *
 * Rows are taken 64 at a time, and a set of rows is a word of 64 bits. Which of them go left is
 * worked out once a question, not once a node; a tree is then descended once for all rows, each node
 * parting the set that reached it. Some trees are descended side by side, level by level, so that
 * the processor waits for many nodes at once and never for one.
 */

#include <stdint.h>

#define ROWS 64
#define TREES 16
#define INLINE static inline __attribute__((always_inline))
#define EXPORTED __attribute__((visibility("default")))

typedef uint64_t __attribute__((may_alias)) Bits;

typedef struct {
    uint64_t n_inputs, n_outputs, n_trees, n_edges, n_runs, n_categories, set_bytes, wide;
    const double *baseline;
    const uint32_t *first_leaf, *first_set, *output;
    const double *edges;
    const uint32_t *first_edge, *run_column;
    const uint32_t *category_column, *category_codes;
    const uint32_t *set_at;
    const uint8_t *sets, *nodes;
    const double *leaves;
} Forest;

/* Rows that reached a node: a tree's splits and leaves from `split` and `leaf` on, `leaves` many. */
typedef struct {
    uint64_t rows;
    uint32_t split, leaf, leaves, tree;
} Group;

typedef struct {
    uint64_t rows;
    uint32_t leaf, tree;
} Arrival;

/* Rows that hold one code of a category column. */
typedef struct {
    uint64_t rows, code;
} Holders;

typedef struct {
    uint64_t *left;    /* n_edges: the rows that a question by number sends left */
    uint64_t *varies;  /* n_inputs: not 0 where the rows differ in a column */
    uint64_t *held;    /* n_categories: how many codes the rows hold */
    Holders *holders;  /* n_categories of ROWS */
    double *sums;      /* n_outputs of ROWS */
    double *values;    /* TREES of ROWS */
    Group *groups;     /* two of TREES * ROWS + 1 */
    Arrival *arrivals; /* TREES * ROWS + 1 */
} Scratch;

EXPORTED uint64_t leap_forest_bytes(void) { return sizeof(Forest); }

EXPORTED uint64_t leap_stamp(void) { return LEAP_STAMP; }

INLINE uint64_t lay_out(const Forest *forest, Scratch *scratch, uint8_t *memory) {
    uint64_t at = 0;
#define TAKE(member, count)                                                                        \
    do {                                                                                           \
        scratch->member = (void *)((uintptr_t)memory + at);                                                  \
        at += ((count) * sizeof *scratch->member + 63) / 64 * 64;                                  \
    } while (0)
    TAKE(left, forest->n_edges);
    TAKE(varies, forest->n_inputs);
    TAKE(held, forest->n_categories);
    TAKE(holders, forest->n_categories * ROWS);
    TAKE(sums, forest->n_outputs * ROWS);
    TAKE(values, (uint64_t)TREES * ROWS);
    TAKE(groups, 2 * ((uint64_t)TREES * ROWS + 1));
    TAKE(arrivals, (uint64_t)TREES * ROWS + 1);
#undef TAKE
    return at;
}

/* Bytes of memory, aligned as numbers are, that leap_score needs. */
EXPORTED uint64_t leap_scratch_bytes(const Forest *forest) {
    Scratch scratch;
    return lay_out(forest, &scratch, 0);
}

/* How many of ascending edges lie below a value that is a number. */
INLINE uint32_t edges_below(const double *edges, uint32_t count, double value) {
    const double *first = edges;
    while (count > 1) {
        uint32_t half = count / 2;
        first += first[half - 1] < value ? half : 0;
        count -= half;
    }
    return (uint32_t)(first - edges) + (count != 0 && *first < value);
}

static void find_varying(const Forest *forest, Scratch *scratch, const double *rows, uint32_t n) {
    uint64_t inputs = forest->n_inputs;
    uint64_t *varies = scratch->varies;
    for (uint64_t column = 0; column < inputs; column++)
        varies[column] = 0;
    const Bits *first = (const Bits *)rows;
    for (uint32_t row = 1; row < n; row++) {
        const Bits *other = first + row * inputs;
        for (uint64_t column = 0; column < inputs; column++)
            varies[column] |= first[column] ^ other[column];
    }
}

/* A run: the edges of one column that send missing values one way. */
INLINE void answer_run(
    const double *edges, uint32_t count, uint64_t missing_left, const double *value,
    uint64_t stride, uint32_t n, uint64_t all, uint64_t *left
) {
    if (n == 1) { /* of the block, or of the column: whatever holds for the first holds for all */
        uint32_t below = *value == *value ? edges_below(edges, count, *value)
                         : missing_left   ? 0
                                          : count;
        for (uint32_t edge = 0; edge < below; edge++)
            left[edge] = 0;
        for (uint32_t edge = below; edge < count; edge++)
            left[edge] = all;
        return;
    }
    for (uint32_t edge = 0; edge < count; edge++)
        left[edge] = 0;
    uint64_t so_far = 0;
    for (uint32_t row = 0; row < n; row++, value += stride) {
        uint64_t bit = (uint64_t)1 << row;
        if (*value == *value) {
            uint32_t below = edges_below(edges, count, *value);
            if (below < count)
                left[below] |= bit;
        } else if (missing_left) {
            so_far |= bit;
        }
    }
    for (uint32_t edge = 0; edge < count; edge++) {
        so_far |= left[edge];
        left[edge] = so_far;
    }
}

/* The code that a set holds a bit for: a whole number below `codes`, or `codes` for all else. */
INLINE uint64_t code_of(double value, uint64_t codes) {
    if (!(value >= 0 && value < 256))
        return codes;
    uint64_t code = (uint64_t)value;
    return (double)code == value && code < codes ? code : codes;
}

static void find_holders(const Forest *forest, Scratch *scratch, const double *rows, uint32_t n) {
    for (uint64_t category = 0; category < forest->n_categories; category++) {
        uint32_t column = forest->category_column[category];
        uint64_t codes = forest->category_codes[category], held = 0;
        Holders *holders = scratch->holders + category * ROWS;
        uint64_t all = n == ROWS ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1;
        if (!scratch->varies[column]) {
            scratch->held[category] = 1;
            holders[0] = (Holders){all, code_of(rows[column], codes)};
            continue;
        }
        for (uint32_t row = 0; row < n; row++) {
            uint64_t code = code_of(rows[row * forest->n_inputs + column], codes), at = 0;
            while (at < held && holders[at].code != code)
                at++;
            if (at == held)
                holders[held++] = (Holders){0, code};
            holders[at].rows |= (uint64_t)1 << row;
        }
        scratch->held[category] = held;
    }
}

INLINE void read_node(
    const Forest *forest, int wide, uint64_t split, uint32_t *question, uint32_t *left_leaves
) {
    if (wide) {
        const uint32_t *node = (const uint32_t *)forest->nodes + 2 * split;
        *question = node[0];
        *left_leaves = node[1];
    } else { /* the fourth byte is the next node's, or padding */
        uint32_t node;
        __builtin_memcpy(&node, forest->nodes + 3 * split, 4);
        *question = node & 0xFFFF;
        *left_leaves = node >> 16 & 0xFF;
    }
}

INLINE const uint8_t *node_at(const Forest *forest, int wide, uint64_t split) {
    return forest->nodes + (wide ? 8 : 3) * split;
}

/* A set: two bytes of the category column's number, then a bit a code, then one for missing. */
static uint64_t left_by_set(const Forest *forest, const Scratch *scratch, uint64_t set) {
    const uint8_t *bits = forest->sets + forest->set_at[set];
    uint64_t category = bits[0] | (uint64_t)bits[1] << 8, left = 0;
    const Holders *holders = scratch->holders + category * ROWS;
    bits += 2;
    for (uint64_t at = 0; at < scratch->held[category]; at++) {
        uint64_t code = holders[at].code;
        left |= -(uint64_t)(bits[code >> 3] >> (code & 7) & 1) & holders[at].rows;
    }
    return left;
}

/* The leaf values of up to TREES trees, into `values`. */
INLINE void descend(
    const Forest *forest, const Scratch *scratch, int wide, uint64_t first, uint32_t trees,
    uint64_t all
) {
    Group *now = scratch->groups, *next = now + (uint64_t)TREES * ROWS + 1;
    Arrival *arrivals = scratch->arrivals;
    uint64_t groups = 0, arrived = 0;
    for (uint32_t tree = 0; tree < trees; tree++) {
        uint32_t leaf = forest->first_leaf[first + tree];
        uint32_t leaves = forest->first_leaf[first + tree + 1] - leaf;
        uint32_t split = leaf - (uint32_t)(first + tree);
        now[groups] = (Group){all, split, leaf, leaves, tree};
        arrivals[arrived] = (Arrival){all, leaf, tree};
        groups += leaves > 1;
        arrived += leaves == 1;
    }
    while (groups) {
        uint64_t kept = 0;
        for (uint64_t at = 0; at < groups; at++) {
            Group group = now[at];
            uint32_t question, k;
            read_node(forest, wide, group.split, &question, &k);
            uint64_t left = question < forest->n_edges
                                ? scratch->left[question]
                                : left_by_set(
                                      forest, scratch,
                                      forest->first_set[first + group.tree] + question -
                                          forest->n_edges
                                  );
            uint64_t right = group.rows & ~left;
            left &= group.rows;
            /* Both sides are written and one is kept, or both: a guess would often be wrong. */
            uint32_t rest = group.leaves - k;
            next[kept] = (Group){left, group.split + 1, group.leaf, k, group.tree};
            kept += (left != 0) & (k > 1);
            arrivals[arrived] = (Arrival){left, group.leaf, group.tree};
            arrived += (left != 0) & (k == 1);
            next[kept] = (Group){right, group.split + k, group.leaf + k, rest, group.tree};
            kept += (right != 0) & (rest > 1);
            arrivals[arrived] = (Arrival){right, group.leaf + k, group.tree};
            arrived += (right != 0) & (rest == 1);
            __builtin_prefetch(node_at(forest, wide, group.split + k));
            __builtin_prefetch(forest->leaves + group.leaf + k);
        }
        Group *done = now;
        now = next;
        next = done;
        groups = kept;
    }
    for (uint64_t at = 0; at < arrived; at++) {
        double value = forest->leaves[arrivals[at].leaf];
        double *values = scratch->values + (uint64_t)arrivals[at].tree * ROWS;
        for (uint64_t rows = arrivals[at].rows; rows; rows &= rows - 1)
            values[__builtin_ctzll(rows)] = value;
    }
}

INLINE void score_block(
    const Forest *forest, const Scratch *scratch, int wide, uint32_t n, uint64_t all
) {
    for (uint64_t first = 0; first < forest->n_trees; first += TREES) {
        uint64_t left = forest->n_trees - first;
        uint32_t trees = left < TREES ? (uint32_t)left : TREES;
        descend(forest, scratch, wide, first, trees, all);
        for (uint32_t tree = 0; tree < trees; tree++) {
            double *sums = scratch->sums + (uint64_t)forest->output[first + tree] * ROWS;
            const double *values = scratch->values + (uint64_t)tree * ROWS;
            for (uint32_t row = 0; row < n; row++)
                sums[row] += values[row];
        }
    }
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
        find_varying(forest, &scratch, block, n);
        for (uint64_t run = 0; run < forest->n_runs; run++) {
            uint32_t edge = forest->first_edge[run], column = forest->run_column[run] >> 1;
            answer_run(
                forest->edges + edge, forest->first_edge[run + 1] - edge,
                forest->run_column[run] & 1, block + column, inputs,
                scratch.varies[column] ? n : 1, all, scratch.left + edge
            );
        }
        find_holders(forest, &scratch, block, n);
        for (uint64_t output = 0; output < outputs; output++)
            for (uint32_t row = 0; row < n; row++)
                scratch.sums[output * ROWS + row] = forest->baseline[output];
        if (forest->wide)
            score_block(forest, &scratch, 1, n, all);
        else
            score_block(forest, &scratch, 0, n, all);
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
