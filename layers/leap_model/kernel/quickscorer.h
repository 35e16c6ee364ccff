/* Small trees by their questions and not by their nodes, in the manner of QuickScorer (Lucchese and
 * others, SIGIR 2015).
 *
 * A tree's leaves are the bits of a word. A split that sends a row right rules out the leaves to
 * its left; of those that no split rules out the first is the row's, in whatever order splits are
 * asked. So they are asked by question: of a column that all rows share, the splits that send them
 * right stand together, and a search finds where they end. Splits that tell rows apart are asked
 * after those, where some row can still come to; each row then has a word of its own, its lane.
 *
 * A descent waits for each node to learn the next, and guesses where rows part. This reads memory
 * in order and guesses little, though it asks more splits.
 */

/* With more lanes of 64 bits a tree a descent is as good. */
#define MOST_WIDE_LANES 16

/* Sorts splits by question: by edge, then the others by category, whose sets lie at `asked_set`.
 * `places` has room for one number an edge, one a category and one more; `pending` for two a leaf
 * of a tree. The splits are sound, and no tree has more than 64 leaves. */
EXPORTED void leap_sort(const Forest *forest, uint32_t *places, uint32_t *pending) {
    uint64_t n_edges = forest->n_edges, n_questions = n_edges + forest->n_categories;
    for (uint64_t question = 0; question <= n_questions; question++)
        places[question] = 0;
    for (int counted = 0; counted < 2; counted++) {
        for (uint64_t tree = 0; tree < forest->n_trees; tree++) {
            uint64_t split = forest->first_leaf[tree] - tree, waiting = 0;
            uint32_t from = 0, to = forest->first_leaf[tree + 1] - forest->first_leaf[tree];
            while (to - from > 1) {
                uint32_t question, k, set = 0;
                read_node(forest, forest->wide != 0, split++, &question, &k);
                if (question >= n_edges) {
                    const uint8_t *at = set_of(forest, tree, question);
                    set = (uint32_t)(at - forest->sets);
                    question = (uint32_t)(n_edges + category_of(at));
                }
                if (!counted) {
                    places[question + 1]++;
                } else {
                    uint32_t place = places[question]++;
                    forest->asked_tree[place] = (uint16_t)tree;
                    forest->asked_keeps[place] = ~(first_bits(from + k) ^ first_bits(from));
                    if (question >= n_edges)
                        forest->asked_set[place - forest->first_asked[n_edges]] = set;
                }
                /* The left part's splits come next, then the right part's. */
                pending[waiting] = from + k;
                pending[waiting + 1] = to;
                waiting += 2;
                to = from + k;
                while (to - from == 1 && waiting) {
                    waiting -= 2;
                    from = pending[waiting];
                    to = pending[waiting + 1];
                }
            }
        }
        if (!counted)
            for (uint64_t question = 0; question <= n_questions; question++) {
                places[question] += question ? places[question - 1] : 0;
                forest->first_asked[question] = places[question];
            }
    }
}

APART void rule_out(const Forest *forest, uint64_t *alive, uint64_t first, uint64_t end) {
    for (uint64_t at = first; at < end; at++)
        alive[forest->asked_tree[at]] &= forest->asked_keeps[at];
}

/* By a category that all rows share. */
APART void rule_out_by_set(
    const Forest *forest, uint64_t *alive, uint64_t first, uint64_t end, const Fours *held
) {
    uint64_t by_edge = forest->first_asked[forest->n_edges];
    for (uint64_t at = first; at < end; at++) {
        const uint8_t *set = forest->sets + forest->asked_set[at - by_edge];
        uint64_t left = -(left_of_set(set, held, 1) & 1);
        alive[forest->asked_tree[at]] &= forest->asked_keeps[at] | left;
    }
}

/* Rules out what a run's questions send all rows right of; notes the spans that tell rows apart. A
 * run's last span begins where all rows go left. */
INLINE Span *ask_run(
    const Forest *forest, const Scratch *scratch, uint64_t run, const double *rows, uint32_t n,
    Span *spans
) {
    uint64_t *turning = scratch->turning;
    uint32_t edge = forest->first_edge[run], count = forest->first_edge[run + 1] - edge;
    uint32_t column = forest->run_column[run] >> 1;
    const double *edges = forest->edges + edge, *value = rows + column;
    const uint32_t *first = forest->first_asked + edge;
    if (!scratch->varies[column]) {
        uint32_t turns = turning_edge(forest, run, edges, count, *value);
        rule_out(forest, scratch->alive, first[0], first[turns]);
        return spans;
    }
    for (uint32_t at = 0; at <= count; at++)
        turning[at] = 0;
    for (uint32_t row = 0; row < n; row++, value += forest->n_inputs)
        turning[turning_edge(forest, run, edges, count, *value)] |= (uint64_t)1 << row;
    uint64_t left = 0;
    Span *next = spans;
    for (uint32_t at = 0; at <= count; at++) {
        left |= turning[at];
        *next = (Span){left, first[at]};
        next += known(turning[at] != 0);
    }
    rule_out(forest, scratch->alive, first[0], spans->first);
    return next;
}

/* Notes splits where rows can still come to their left; none can come to their right alone, since
 * what rules out the leaves there rules out those as well. */
APART Parting *note(
    const Forest *forest, const uint64_t *alive, uint64_t first, uint64_t end, uint64_t left,
    uint64_t step, Parting *partings
) {
    for (uint64_t at = first; at < end; at++, left += step) {
        uint64_t tree = forest->asked_tree[at], keeps = forest->asked_keeps[at];
        *partings = (Parting){keeps, left, tree};
        partings += known((alive[tree] & ~keeps) != 0);
    }
    return partings;
}

/* Which splits tell rows apart, and which rows each sends left. */
INLINE uint64_t find_partings(
    const Forest *forest, const Scratch *scratch, const Span *end, uint64_t all
) {
    Parting *partings = scratch->partings;
    for (const Span *span = scratch->spans; span < end; span++)
        if (span->left != all)
            partings =
                note(forest, scratch->alive, span->first, span[1].first, span->left, 0, partings);
    const uint32_t *first = forest->first_asked + forest->n_edges;
    for (uint64_t category = 0; category < forest->n_categories; category++) {
        if (!scratch->varies[forest->category_column[category]])
            continue;
        Parting *noted = partings;
        partings = note(
            forest, scratch->alive, first[category], first[category + 1],
            first[category] - first[0], 1, partings
        );
        for (; noted < partings; noted++) {
            const uint8_t *set = forest->sets + forest->asked_set[noted->left];
            noted->left =
                left_of_set(set, scratch->fours + category * ROWS, scratch->held[category]);
        }
    }
    return (uint64_t)(partings - scratch->partings);
}

/* In each lane that its row's bit in `rows` does not spare, leaves what `keeps` does. */
INLINE void keep(
    Quad *lanes, uint32_t quads, const Quad *row_bits, uint64_t rows, Quad keeps
) {
    uint32_t word = (uint32_t)rows;
    Quad spared = {word, word, word, word};
    for (uint32_t at = 0; at < quads; at++)
        lanes[at] &= keeps | (Quad)((spared & row_bits[at]) != 0);
}

/* A word in each lane of a quad. */
INLINE Quad in_lanes(uint64_t word, int narrow) {
    uint32_t one = (uint32_t)word, other = narrow ? one : (uint32_t)high(word);
    return (Quad){one, other, one, other};
}

INLINE void part_lanes(
    const Forest *forest, const Scratch *scratch, uint64_t partings, uint32_t n, int narrow
) {
    uint32_t in_quad = narrow ? 4 : 2, quads = (n + in_quad - 1) / in_quad;
    uint32_t quads_of_word = 32 / in_quad, before = quads < quads_of_word ? quads : quads_of_word;
    Quad row_bits[16], *lanes = scratch->lanes;
    for (uint32_t at = 0; at < quads_of_word; at++) {
        uint32_t bit = (uint32_t)1 << in_quad * at;
        row_bits[at] = narrow ? (Quad){bit, bit << 1, bit << 2, bit << 3}
                              : (Quad){bit, bit, bit << 1, bit << 1};
    }
    for (uint64_t tree = 0; tree < forest->n_trees; tree++)
        for (uint32_t at = 0; at < quads; at++)
            lanes[tree * quads + at] = in_lanes(scratch->alive[tree], narrow);
    for (uint64_t at = 0; at < partings; at++) {
        const Parting *one = scratch->partings + at;
        Quad *of = lanes + one->tree * quads, keeps = in_lanes(one->keeps, narrow);
        keep(of, before, row_bits, one->left, keeps);
        if (quads > before)
            keep(of + before, quads - before, row_bits, high(one->left), keeps);
    }
    for (uint64_t tree = 0; tree < forest->n_trees; tree++) {
        const double *leaves = forest->leaves + forest->first_leaf[tree];
        double *sums = scratch->sums + (uint64_t)forest->output[tree] * ROWS;
        const Lane *of_32 = (const Lane *)(lanes + tree * quads);
        const Bits *of_64 = (const Bits *)(lanes + tree * quads);
        for (uint32_t row = 0; row < n; row++)
            sums[row] +=
                leaves[narrow ? __builtin_ctz(of_32[row]) : __builtin_ctzll(of_64[row])];
    }
}

APART void part_narrow_lanes(
    const Forest *forest, const Scratch *scratch, uint64_t partings, uint32_t n
) {
    part_lanes(forest, scratch, partings, n, 1);
}

APART void part_wide_lanes(
    const Forest *forest, const Scratch *scratch, uint64_t partings, uint32_t n
) {
    part_lanes(forest, scratch, partings, n, 0);
}

/* Adds each row's leaves to its sums. */
static void add_by_question(
    const Forest *forest, const Scratch *scratch, const double *rows, uint32_t n, uint64_t all
) {
    uint64_t *alive = scratch->alive;
    for (uint64_t tree = 0; tree < forest->n_trees; tree++)
        alive[tree] = first_bits(forest->first_leaf[tree + 1] - forest->first_leaf[tree]);
    Span *spans = scratch->spans;
    for (uint64_t run = 0; run < forest->n_runs; run++)
        spans = ask_run(forest, scratch, run, rows, n, spans);
    const uint32_t *first = forest->first_asked + forest->n_edges;
    for (uint64_t category = 0; category < forest->n_categories; category++)
        if (!scratch->varies[forest->category_column[category]])
            rule_out_by_set(
                forest, alive, first[category], first[category + 1],
                scratch->fours + category * ROWS
            );
    uint64_t partings = find_partings(forest, scratch, spans, all);
    if (forest->lane_bits == 32)
        part_narrow_lanes(forest, scratch, partings, n);
    else
        part_wide_lanes(forest, scratch, partings, n);
}
