/* One descent of each tree for all rows of a block, each node parting the rows that reached it.
 *
 * Some trees are descended side by side, level by level, so that the processor waits for many nodes
 * at once and never for one. Trees may have any size, and rows any number.
 */

/* Of the next trees' splits, fetched at each level of these. */
#define LINES 48

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
        const double *edges = forest->edges + first, *value = rows + column;
        int varies = scratch->varies[column] != 0;
        uint64_t bits = varies ? 1 : all; /* what holds for one row else holds for all */
        for (uint32_t row = 0; row < (varies ? n : 1); row++) {
            left[first + turning_edge(forest, run, edges, count, *value)] += bits;
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
        splits[one.group].left = left_of_set(set, scratch->fours + category * ROWS, 1);
        asked[varying] = one;
        varying += known(scratch->held[category] > 1);
    }
    for (uint64_t at = 0; at < varying; at++) {
        Asked one = asked[at];
        const uint8_t *set = set_of(forest, first + high(now[one.group].size), one.question);
        uint64_t category = category_of(set);
        splits[one.group].left =
            left_of_set(set, scratch->fours + category * ROWS, scratch->held[category]);
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

/* Where the splits of a tree begin. */
INLINE const uint8_t *splits_of(const Forest *forest, uint64_t tree) {
    return forest->nodes + (forest->wide ? 8 : 3) * (uint64_t)(forest->first_leaf[tree] - tree);
}

/* The leaf values of up to TREES trees, into `values`; meanwhile the splits of the next ones are
 * fetched, of whichever a row will come to. */
static void descend(
    const Forest *forest, const Scratch *scratch, uint64_t first, uint64_t trees, uint64_t all
) {
    uint64_t end = first + trees, rest = forest->n_trees - end;
    const uint8_t *ahead = splits_of(forest, end);
    const uint8_t *ahead_end = splits_of(forest, end + (rest < TREES ? rest : TREES));
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
    for (const Group *at = scratch->arrived; groups;) {
        for (uint32_t line = 0; line < LINES && ahead < ahead_end; line++, ahead += 64)
            __builtin_prefetch(ahead, 0, 2);
        if (forest->wide) {
            ask_wide(forest, scratch, first, now, groups);
            groups = part_wide(forest, now, scratch->splits, groups, next, &arrived);
        } else {
            ask_narrow(forest, scratch, first, now, groups);
            groups = part_narrow(forest, now, scratch->splits, groups, next, &arrived);
        }
        for (; at < arrived; at++)
            __builtin_prefetch(forest->leaves + high(at->place));
        Group *done = now;
        now = next;
        next = done;
    }
    for (const Group *at = scratch->arrived; at < arrived; at++) {
        double value = forest->leaves[high(at->place)];
        double *values = scratch->values + high(at->size) * ROWS;
        for (uint64_t rows = at->rows; rows; rows &= rows - 1)
            values[__builtin_ctzll(rows)] = value;
    }
}

static void add_by_descent(
    const Forest *forest, const Scratch *scratch, const double *rows, uint32_t n, uint64_t all
) {
    answer_edges(forest, scratch, rows, n, all);
    for (uint64_t category = 0; category < forest->n_categories; category++)
        scratch->held[category] =
            find_fours(forest, category, rows, n, scratch->fours + category * ROWS);
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
