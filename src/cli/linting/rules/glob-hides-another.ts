import { Glob, isGlob, overlap } from '../../../core/glob.js'
import type { Rule } from '../rule.js'

/** Later globs that one glob is compared with, at most. */
const MAX_COMPARED = 500

export const globHidesAnother: Rule = {
  id: 'glob-hides-another',
  severity: 'warning',
  finds: 'two globs of `models` that overlap, where neither contains the other',
  why: 'Globs are tried in the order of the file. Names that fit both go to the first one, which nothing in the second shows. (A glob that is hidden whole is an error of `validate`.)',
  mend: 'Write the names that fit both out in front, or make one glob narrower.',
  *check({ config: { models } }) {
    const globs = Object.keys(models).filter(isGlob)
    for (const [index, first] of globs.entries()) {
      for (const second of globs.slice(index + 1, index + 1 + MAX_COMPARED)) {
        if (!overlap(first, second) || new Glob(second).matches(first) || new Glob(first).matches(second)) continue
        const message = `names that fit ${JSON.stringify(first)}, too, go there: it comes first`
        yield { path: ['models', second], message }
        break
      }
    }
  },
}
