/* Small trees by their questions and not by their nodes, in the manner of QuickScorer (Lucchese and
 * others, SIGIR 2015).
 *
 * A tree's leaves are the bits of a word. A split that sends a row right rules out the leaves to
 * its left; of those that no split rules out the first is the row's, in whatever order splits are
 * asked. So they are asked by question: of a column that all rows share, the splits that send them
 * right stand together, and a search finds where they end. What tells rows apart is asked beside
 * that: by a few of them one after the other, each ruling out leaves in words of its own; by more
 * side by side, each in its lane, where some row can still come to the split.
 *
 * A descent waits for each node to learn the next, and guesses where rows part. This reads memory
 * in order and guesses little, though it asks more splits.
 */

/* With more lanes of 64 bits a tree a descent is as good. */
#define MOST_WIDE_LANES 16

/* Words that have a bit for each of some splits. */
INLINE uint64_t words_of(uint64_t splits) { return (splits + 31) / 32; }

/* Sorts splits by question: by edge, then the others by category, whose sets lie at `set_at`, one a
 * split by category. `places` has room for one number an edge, one a category and one more;
 * `pending` for two a leaf of a tree. The splits are sound, and no tree has more than 64 leaves. */
EXPORTED void leap_sort(
    const Forest *forest, uint32_t *set_at, uint32_t *places, uint32_t *pending
) {
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
                        set_at[place - forest->first_asked[n_edges]] = set;
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

/* Writes the sides of the splits by category, once `first_side` says where a category's begin: one
 * code's after the other, at last those of none. */
EXPORTED void leap_write_sides(const Forest *forest, const uint32_t *set_at) {
    const uint32_t *first = forest->first_asked + forest->n_edges;
    for (uint64_t category = 0; category < forest->n_categories; category++) {
        uint64_t splits = first[category + 1] - first[category], words = words_of(splits);
        uint32_t *sides = forest->sides + forest->first_side[category];
        for (uint64_t word = 0; word < words; word++, sides++)
            for (uint64_t code = 0; code <= forest->category_codes[category]; code++) {
                uint32_t side = 0;
                for (uint64_t at = 32 * word; at < splits && at < 32 * word + 32; at++)
                    side |= (uint32_t)(forest->sets[set_at[at] + 2 + code / 8] >> code % 8 & 1)
                            << at % 32;
                sides[code * words] = side;
            }
        set_at += splits;
    }
}

/* The sides of a category's splits to which they send a value: a bit a split, 1 for left. */
INLINE const uint32_t *sides_of(const Forest *forest, uint64_t category, double value) {
    const uint32_t *first = forest->first_asked + forest->n_edges + category;
    uint64_t code = code_of(value, forest->category_codes[category]);
    return forest->sides + forest->first_side[category] + code * words_of(first[1] - first[0]);
}

APART void rule_out(const Forest *forest, uint64_t *alive, uint64_t first, uint64_t end) {
    for (uint64_t at = first; at < end; at++)
        alive[forest->asked_tree[at]] &= forest->asked_keeps[at];
}

/* Where a split's side is not left. */
APART void rule_out_by_side(
    const Forest *forest, uint64_t *alive, uint64_t first, uint64_t end, const uint32_t *sides
) {
    while (first < end) {
        uint64_t until = end - first < 32 ? end : first + 32, side = *sides++;
        for (; first < until; first++, side >>= 1)
            alive[forest->asked_tree[first]] &= forest->asked_keeps[first] | -(side & 1);
    }
}

/* Rows that are asked one after the other, of what tells them apart; what they share, once. */
static void add_few(
    const Forest *forest, const Scratch *scratch, const double *rows, uint32_t n
) {
    uint64_t trees = forest->n_trees, *alive = scratch->alive, *own = scratch->own;
    for (uint64_t at = 0; at < trees * n; at++)
        own[at] = ~(uint64_t)0;
    for (uint64_t run = 0; run < forest->n_runs; run++) {
        uint32_t edge = forest->first_edge[run], count = forest->first_edge[run + 1] - edge;
        uint32_t column = forest->run_column[run] >> 1, turning[FEW], least = count;
        uint32_t asked = scratch->varies[column] ? n : 1;
        const double *edges = forest->edges + edge, *value = rows + column;
        const uint32_t *first = forest->first_asked + edge;
        for (uint32_t row = 0; row < asked; row++, value += forest->n_inputs) {
            turning[row] = turning_edge(forest, run, edges, count, *value);
            least = turning[row] < least ? turning[row] : least;
        }
        rule_out(forest, alive, first[0], first[least]);
        for (uint32_t row = 0; row < asked; row++)
            rule_out(forest, own + row * trees, first[least], first[turning[row]]);
    }
    const uint32_t *first = forest->first_asked + forest->n_edges;
    for (uint64_t category = 0; category < forest->n_categories; category++) {
        uint32_t column = forest->category_column[category];
        const double *value = rows + column;
        if (!scratch->varies[column]) {
            const uint32_t *sides = sides_of(forest, category, *value);
            rule_out_by_side(forest, alive, first[category], first[category + 1], sides);
            continue;
        }
        for (uint32_t row = 0; row < n; row++, value += forest->n_inputs) {
            const uint32_t *sides = sides_of(forest, category, *value);
            rule_out_by_side(
                forest, own + row * trees, first[category], first[category + 1], sides
            );
        }
    }
    for (uint64_t tree = 0; tree < trees; tree++) {
        const double *leaves = forest->leaves + forest->first_leaf[tree];
        double *sums = scratch->sums + (uint64_t)forest->output[tree] * ROWS;
        for (uint32_t row = 0; row < n; row++)
            sums[row] += leaves[__builtin_ctzll(alive[tree] & own[row * trees + tree])];
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
 * what rules out the leaves there rules out those as well. `left` has the rows that each sends left,
 * or with a step of 0 those that all send. */
APART Parting *note(
    const Forest *forest, const uint64_t *alive, uint64_t first, uint64_t end,
    const uint64_t *left, uint64_t step, Parting *partings
) {
    for (uint64_t at = first; at < end; at++, left += step) {
        uint64_t tree = forest->asked_tree[at], keeps = forest->asked_keeps[at];
        *partings = (Parting){keeps, *left, tree};
        partings += known((alive[tree] & ~keeps) != 0);
    }
    return partings;
}

/* One step of turning a square of bits over, so that its rows are its columns (Hacker's Delight). */
INLINE void turn_by(uint32_t *square, uint32_t step, uint32_t mask) {
    for (uint32_t from = 0; from < 32; from += 2 * step)
        for (uint32_t at = from; at < from + step; at++) {
            uint32_t other = (square[at] >> step ^ square[at + step]) & mask;
            square[at] ^= other << step;
            square[at + step] ^= other;
        }
}

/* For each split of a category the rows that it sends left. */
APART void find_lefts(
    const Forest *forest, const Scratch *scratch, uint64_t category, const double *rows, uint32_t n
) {
    const uint32_t *first = forest->first_asked + forest->n_edges + category, *sides[ROWS];
    uint64_t words = words_of(first[1] - first[0]);
    rows += forest->category_column[category];
    for (uint32_t row = 0; row < n; row++, rows += forest->n_inputs)
        sides[row] = sides_of(forest, category, *rows);
    for (uint64_t word = 0; word < words; word++) {
        uint64_t *lefts = scratch->lefts + 32 * word;
        for (uint32_t from = 0; from < n; from += 32) {
            uint32_t square[32] = {0}, some = n - from < 32 ? n - from : 32;
            for (uint32_t row = 0; row < some; row++)
                square[row] = sides[from + row][word];
            turn_by(square, 16, 0x0000FFFF);
            turn_by(square, 8, 0x00FF00FF);
            turn_by(square, 4, 0x0F0F0F0F);
            turn_by(square, 2, 0x33333333);
            turn_by(square, 1, 0x55555555);
            for (uint32_t at = 0; at < 32; at++)
                lefts[at] = from ? word_of(low(lefts[at]), square[at]) : square[at];
        }
    }
}

/* Which splits tell rows apart, and which rows each sends left. */
INLINE uint64_t find_partings(
    const Forest *forest, const Scratch *scratch, const Span *end, const double *rows, uint32_t n,
    uint64_t all
) {
    const uint64_t *alive = scratch->alive;
    Parting *partings = scratch->partings;
    for (const Span *span = scratch->spans; span < end; span++)
        if (span->left != all)
            partings =
                note(forest, alive, span->first, span[1].first, &span->left, 0, partings);
    const uint32_t *first = forest->first_asked + forest->n_edges;
    for (uint64_t category = 0; category < forest->n_categories; category++)
        if (scratch->varies[forest->category_column[category]]) {
            find_lefts(forest, scratch, category, rows, n);
            partings = note(
                forest, alive, first[category], first[category + 1], scratch->lefts, 1, partings
            );
        }
    return (uint64_t)(partings - scratch->partings);
}

/* A word in each lane. */
INLINE Lanes in_lanes(uint64_t word, int narrow) {
    uint32_t one = (uint32_t)word, other = narrow ? one : (uint32_t)high(word);
    return (Lanes){one, other, one, other, one, other, one, other};
}

/* In each lane that its row's bit in `rows` does not spare, leaves what `keeps` does. */
INLINE void keep(
    Lanes *lanes, uint32_t count, const Lanes *row_bits, uint64_t rows, Lanes keeps
) {
    Lanes spared = in_lanes(rows, 1);
    for (uint32_t at = 0; at < count; at++)
        lanes[at] &= keeps | (Lanes)((spared & row_bits[at]) != 0);
}

INLINE void part_lanes(
    const Forest *forest, const Scratch *scratch, uint64_t partings, uint32_t n, int narrow
) {
    uint32_t at_once = narrow ? 8 : 4, count = (n + at_once - 1) / at_once;
    uint32_t of_word = 32 / at_once, before = count < of_word ? count : of_word;
    Lanes row_bits[8], *lanes = scratch->lanes;
    for (uint32_t at = 0; at < of_word; at++)
        row_bits[at] = (narrow ? (Lanes){1, 2, 4, 8, 16, 32, 64, 128}
                               : (Lanes){1, 1, 2, 2, 4, 4, 8, 8})
                       << at_once * at;
    for (uint64_t tree = 0; tree < forest->n_trees; tree++)
        for (uint32_t at = 0; at < count; at++)
            lanes[tree * count + at] = in_lanes(scratch->alive[tree], narrow);
    for (uint64_t at = 0; at < partings; at++) {
        const Parting *one = scratch->partings + at;
        Lanes *of = lanes + one->tree * count, keeps = in_lanes(one->keeps, narrow);
        keep(of, before, row_bits, one->left, keeps);
        if (count > before)
            keep(of + before, count - before, row_bits, high(one->left), keeps);
    }
    for (uint64_t tree = 0; tree < forest->n_trees; tree++) {
        const double *leaves = forest->leaves + forest->first_leaf[tree];
        double *sums = scratch->sums + (uint64_t)forest->output[tree] * ROWS;
        const Lane *of_32 = (const Lane *)(lanes + tree * count);
        const Bits *of_64 = (const Bits *)(lanes + tree * count);
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

/* Rows that are asked side by side. */
static void add_many(
    const Forest *forest, const Scratch *scratch, const double *rows, uint32_t n, uint64_t all
) {
    uint64_t *alive = scratch->alive;
    Span *spans = scratch->spans;
    for (uint64_t run = 0; run < forest->n_runs; run++)
        spans = ask_run(forest, scratch, run, rows, n, spans);
    const uint32_t *first = forest->first_asked + forest->n_edges;
    for (uint64_t category = 0; category < forest->n_categories; category++) {
        uint32_t column = forest->category_column[category];
        if (!scratch->varies[column])
            rule_out_by_side(
                forest, alive, first[category], first[category + 1],
                sides_of(forest, category, rows[column])
            );
    }
    uint64_t partings = find_partings(forest, scratch, spans, rows, n, all);
    if (forest->lane_bits == 32)
        part_narrow_lanes(forest, scratch, partings, n);
    else
        part_wide_lanes(forest, scratch, partings, n);
}

/* Adds each row's leaves to its sums. */
static void add_by_question(
    const Forest *forest, const Scratch *scratch, const double *rows, uint32_t n, uint64_t all
) {
    for (uint64_t tree = 0; tree < forest->n_trees; tree++)
        scratch->alive[tree] =
            first_bits(forest->first_leaf[tree + 1] - forest->first_leaf[tree]);
    if (n <= FEW)
        add_few(forest, scratch, rows, n);
    else
        add_many(forest, scratch, rows, n, all);
}
