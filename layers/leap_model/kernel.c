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
#define TREES 32
#define APART static __attribute__((noinline))
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

/* Rows that reached a node. `place` is its tree's splits and leaves from there on, the split in the
 * low half and the leaf in the high; `size` is how many leaves there are, and in the high half the
 * tree: so a child is one addition away. */
typedef struct {
    uint64_t rows, place, size;
} Group;

/* What a group's split says: the rows that its question sends left, and how many leaves are there. */
typedef struct {
    uint64_t left, leaves;
} Split;

/* A group whose question is by category. */
typedef struct {
    uint32_t group, question;
} Asked;

/* Rows that hold one code of a category column. */
typedef struct {
    uint64_t rows, code;
} Holders;

typedef struct {
    uint64_t *left;    /* n_edges + 1: the rows that a question by number sends left */
    uint64_t *varies;  /* n_inputs: not 0 where the rows differ in a column */
    uint64_t *held;    /* n_categories: how many codes the rows hold */
    Holders *holders;  /* n_categories of ROWS */
    double *sums;      /* n_outputs of ROWS */
    double *values;    /* TREES of ROWS */
    Group *groups;     /* TREES * ROWS + 1, as all that follow */
    Group *next;
    Group *arrived;    /* groups that reached a leaf */
    Split *splits;     /* of the groups */
    Asked *asked;
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
    TAKE(left, forest->n_edges + 1);
    TAKE(varies, forest->n_inputs);
    TAKE(held, forest->n_categories);
    TAKE(holders, forest->n_categories * ROWS);
    TAKE(sums, forest->n_outputs * ROWS);
    TAKE(values, (uint64_t)TREES * ROWS);
    TAKE(groups, (uint64_t)TREES * ROWS + 1);
    TAKE(next, (uint64_t)TREES * ROWS + 1);
    TAKE(arrived, (uint64_t)TREES * ROWS + 1);
    TAKE(splits, (uint64_t)TREES * ROWS + 1);
    TAKE(asked, (uint64_t)TREES * ROWS + 1);
#undef TAKE
    return at;
}

/* Bytes of memory, aligned as numbers are, that leap_score needs. */
EXPORTED uint64_t leap_scratch_bytes(const Forest *forest) {
    Scratch scratch;
    return lay_out(forest, &scratch, 0);
}

/* A truth that is worked out and not guessed: a compiler may make no branch of what is not known to
 * it to be 0 or 1. */
INLINE uint64_t known(int truth) {
    uint64_t word = (uint64_t)truth;
    __asm__("" : "+r"(word));
    return word;
}

/* How many of ascending edges lie below a value that is a number. */
INLINE uint32_t edges_below(const double *edges, uint32_t count, double value) {
    const double *first = edges;
    while (count > 1) {
        uint32_t half = count / 2;
        first += known(first[half - 1] < value) * half;
        count -= half;
    }
    return (uint32_t)(first - edges + known(count != 0 && *first < value));
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

/* For each edge the rows whose value it sends left. A row's bit is put where its value first lies
 * below an edge, and sums over the edges, in order, then give each edge the bits of all before it:
 * in a run a row has one bit, if not below an edge then in the place after the last. There, which is
 * where the next run begins, the bits of all rows are taken off again. */
static void answer_edges(
    const Forest *forest, const Scratch *scratch, const double *rows, uint32_t n, uint64_t all
) {
    uint64_t *left = scratch->left;
    for (uint64_t edge = 0; edge <= forest->n_edges; edge++)
        left[edge] = 0;
    for (uint64_t run = 0; run < forest->n_runs; run++) {
        uint32_t first = forest->first_edge[run], count = forest->first_edge[run + 1] - first;
        uint32_t column = forest->run_column[run] >> 1;
        uint32_t missing = forest->run_column[run] & 1 ? 0 : count;
        const double *edges = forest->edges + first, *value = rows + column;
        int varies = scratch->varies[column] != 0;
        uint64_t bits = varies ? 1 : all; /* what holds for one row else holds for all */
        for (uint32_t row = 0; row < (varies ? n : 1); row++) {
            uint32_t below = edges_below(edges, count, *value);
            left[first + (*value == *value ? below : missing)] += bits;
            bits += bits;
            value += forest->n_inputs;
        }
        left[first + count] -= all;
    }
    uint64_t so_far = 0;
    for (uint64_t edge = 0; edge < forest->n_edges; edge++) {
        so_far += left[edge];
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

INLINE uint64_t low(uint64_t word) { return word & 0xFFFFFFFF; }

INLINE uint64_t high(uint64_t word) { return word >> 32; }

INLINE uint64_t word_of(uint64_t low_half, uint64_t high_half) { return low_half | high_half << 32; }

/* A set: two bytes of the category column's number, then a bit a code, then one for missing. */
INLINE const uint8_t *set_of(const Forest *forest, uint64_t tree, uint32_t question) {
    return forest->sets + forest->set_at[forest->first_set[tree] + question - forest->n_edges];
}

INLINE uint64_t category_of(const uint8_t *set) { return set[0] | (uint64_t)set[1] << 8; }

INLINE uint64_t left_of_holders(const uint8_t *set, const Holders *holders) {
    return -(uint64_t)(set[2 + (holders->code >> 3)] >> (holders->code & 7) & 1) & holders->rows;
}

/* What the split of each group says. Questions of a kind are answered in a loop of their own, so that
 * what a loop does never depends on a guess. */
INLINE void ask(
    const Forest *forest, const Scratch *scratch, int wide, uint64_t first, const Group *now,
    uint64_t groups
) {
    Split *splits = scratch->splits;
    Asked *asked = scratch->asked;
    const uint64_t *left = scratch->left;
    uint64_t n_edges = forest->n_edges, by_set = 0, varying = 0;
    for (uint64_t at = 0; at < groups; at++) {
        uint32_t question, k;
        read_node(forest, wide, low(now[at].place), &question, &k);
        uint64_t is_set = known(question >= n_edges);
        splits[at] = (Split){left[question & (is_set - 1)], k};
        asked[by_set] = (Asked){(uint32_t)at, question};
        by_set += is_set;
    }
    for (uint64_t at = 0; at < by_set; at++) {
        Asked one = asked[at];
        const uint8_t *set = set_of(forest, first + high(now[one.group].size), one.question);
        uint64_t category = category_of(set);
        splits[one.group].left = left_of_holders(set, scratch->holders + category * ROWS);
        asked[varying] = one;
        varying += known(scratch->held[category] > 1);
    }
    for (uint64_t at = 0; at < varying; at++) {
        Asked one = asked[at];
        const uint8_t *set = set_of(forest, first + high(now[one.group].size), one.question);
        uint64_t category = category_of(set), rows = 0;
        const Holders *holders = scratch->holders + category * ROWS;
        for (uint64_t code = 0; code < scratch->held[category]; code++)
            rows |= left_of_holders(set, holders + code);
        splits[one.group].left = rows;
    }
}

/* Where groups go: inner nodes to `in`, leaves to `out`. */
typedef struct {
    Group *in, *out;
} Ways;

INLINE Ways sent(Ways ways, uint64_t rows, uint64_t place, uint64_t size) {
    uint64_t is_leaf = known(low(size) == 1);
    Group *to = is_leaf ? ways.out : ways.in;
    to->rows = rows;
    to->place = place;
    to->size = size;
    return (Ways){ways.in + (1 - is_leaf), ways.out + is_leaf};
}

/* The children of groups, by their splits: those that are leaves after those that arrived before,
 * which `*arrived` counts, the others into `next`. Gives how many these are. Most questions tell no
 * two rows of a group apart, so that is what the processor may guess: which side they take it
 * could not. */
INLINE uint64_t part(
    const Forest *forest, int wide, const Group *now, const Split *splits, uint64_t groups,
    Group *next, Group **arrived
) {
    const uint8_t *nodes = forest->nodes;
    Ways ways = {next, *arrived};
    for (uint64_t at = 0; at < groups; at++) {
        uint64_t rows = now[at].rows, place = now[at].place, size = now[at].size;
        uint64_t k = splits[at].leaves, rest = low(size) - k, left = rows & splits[at].left;
        uint64_t to_left = -known(left != 0);
        if (left != 0 && left != rows) {
            ways = sent(ways, left, place + 1, size - rest);
            __builtin_prefetch(nodes + (wide ? 8 : 3) * low(place + 1));
            to_left = 0;
            rows ^= left;
        }
        place += (word_of(k, k) & ~to_left) - to_left;
        ways = sent(ways, rows, place, size - (k ^ ((k ^ rest) & to_left)));
        __builtin_prefetch(nodes + (wide ? 8 : 3) * low(place));
    }
    *arrived = ways.out;
    return (uint64_t)(ways.in - next);
}

/* Apart from all else, so that each loop has the processor's registers for itself. */
APART void ask_narrow(
    const Forest *forest, const Scratch *scratch, uint64_t first, const Group *now, uint64_t groups
) {
    ask(forest, scratch, 0, first, now, groups);
}

APART void ask_wide(
    const Forest *forest, const Scratch *scratch, uint64_t first, const Group *now, uint64_t groups
) {
    ask(forest, scratch, 1, first, now, groups);
}

APART uint64_t part_narrow(
    const Forest *forest, const Group *now, const Split *splits, uint64_t groups, Group *next,
    Group **arrived
) {
    return part(forest, 0, now, splits, groups, next, arrived);
}

APART uint64_t part_wide(
    const Forest *forest, const Group *now, const Split *splits, uint64_t groups, Group *next,
    Group **arrived
) {
    return part(forest, 1, now, splits, groups, next, arrived);
}

/* The leaf values of up to TREES trees, into `values`. */
static void descend(
    const Forest *forest, const Scratch *scratch, uint64_t first, uint64_t trees, uint64_t all
) {
    Group *now = scratch->groups, *next = scratch->next, *arrived = scratch->arrived;
    uint64_t groups = 0;
    for (uint64_t tree = 0; tree < trees; tree++) {
        uint64_t leaf = forest->first_leaf[first + tree];
        uint64_t leaves = forest->first_leaf[first + tree + 1] - leaf;
        *arrived = now[groups] =
            (Group){all, word_of(leaf - (first + tree), leaf), word_of(leaves, tree)};
        groups += leaves > 1;
        arrived += leaves == 1;
    }
    while (groups) {
        if (forest->wide) {
            ask_wide(forest, scratch, first, now, groups);
            groups = part_wide(forest, now, scratch->splits, groups, next, &arrived);
        } else {
            ask_narrow(forest, scratch, first, now, groups);
            groups = part_narrow(forest, now, scratch->splits, groups, next, &arrived);
        }
        Group *done = now;
        now = next;
        next = done;
    }
    for (const Group *at = scratch->arrived; at < arrived; at++)
        __builtin_prefetch(forest->leaves + high(at->place));
    for (const Group *at = scratch->arrived; at < arrived; at++) {
        double value = forest->leaves[high(at->place)];
        double *values = scratch->values + high(at->size) * ROWS;
        for (uint64_t rows = at->rows; rows; rows &= rows - 1)
            values[__builtin_ctzll(rows)] = value;
    }
}

static void score_block(
    const Forest *forest, const Scratch *scratch, uint32_t n, uint64_t all
) {
    for (uint64_t first = 0; first < forest->n_trees; first += TREES) {
        uint64_t left = forest->n_trees - first;
        uint64_t trees = left < TREES ? left : TREES;
        descend(forest, scratch, first, trees, all);
        for (uint64_t tree = 0; tree < trees; tree++) {
            double *sums = scratch->sums + (uint64_t)forest->output[first + tree] * ROWS;
            const double *values = scratch->values + tree * ROWS;
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
        answer_edges(forest, &scratch, block, n, all);
        find_holders(forest, &scratch, block, n);
        for (uint64_t output = 0; output < outputs; output++)
            for (uint32_t row = 0; row < n; row++)
                scratch.sums[output * ROWS + row] = forest->baseline[output];
        score_block(forest, &scratch, n, all);
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
