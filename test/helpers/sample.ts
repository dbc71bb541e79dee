import { seeded } from './random.js'

/** Whether corpora are gone through whole (`npm run test:recordings`), or sampled. */
export const EVERYTHING = process.env.ALL_RECORDINGS === '1'

/**
 * What a sample is drawn by. A run prints it where it samples; `SAMPLE_SEED=7 npm test` draws another one, and CI draws one
 * for each commit.
 */
const SEED = Number(process.env.SAMPLE_SEED ?? 20_261_122)

/** All of a corpus, or at most `count` of it in their order: the same ones for the same seed. Says aloud what it left out. */
export function sample<T>(what: string, corpus: readonly T[], count: number): readonly T[] {
  if (EVERYTHING || corpus.length <= count) return corpus
  const random = seeded(SEED)
  let left = count
  const drawn = corpus.filter((_, i) => {
    const taken = random() < left / (corpus.length - i)
    if (taken) left -= 1
    return taken
  })
  console.error(
    `# SAMPLED: ${count} of ${corpus.length} ${what} (SAMPLE_SEED=${SEED}; ALL_RECORDINGS=1 takes them all)`,
  )
  return drawn
}
