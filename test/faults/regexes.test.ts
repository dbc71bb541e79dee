import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { RegexSteps } from '../helpers/regex-steps.js'
import { readSources, regexesOf } from '../helpers/source-rules.js'

// For any text, a regular expression takes steps in proportion to its length: for twice the text no more than
// about twice the steps. Four times would be a square.

const MOST = 3
/** Steps that a character may cost in any case: fewer are not examined. */
const FREE = 5
/** Characters of the longer texts, of which half is tried too. The counting goes a few calls deeper with each of them. */
const LONG = 300

/** The text that makes an expression take more than that, or undefined. Short texts are tried first, for all are many. */
function slow(source: string, flags = ''): string | undefined {
  const steps = new RegexSteps(source, flags)
  const isSlow = (attack: (n: number) => string, n: number, most: number): boolean => {
    const large = steps.count(attack(2 * n))
    if (large < 2 * n * FREE) return false
    const small = steps.count(attack(n))
    return small === Number.POSITIVE_INFINITY || large / small > most
  }
  const found = steps.attacks().find(attack => isSlow(attack, 40, 2.4) && isSlow(attack, LONG / 2, MOST))
  return found?.(5)
}

/** Without one of these a text is looked at a fixed number of times from each place. */
const UNBOUNDED = /[*+]|,\}/

t.test('F-C12 the count of steps tells squares and worse', async t => {
  for (const regex of [
    '^(a+)*$',
    '\\s+$',
    '^\\s*%?\\s*$',
    '[{].*\\$',
    '^\\d+[a-z0-9]*x',
    '(a|a)*b',
    '^(?:a|b|ab)*$',
    'x*y',
    '(.*),(.*);',
  ])
    t.not(slow(regex), undefined, regex)
  for (const regex of [
    '^[a-z]+$',
    '^\\s*\\d+\\s*$',
    '(?<!\\s)\\s+$',
    '^(?:[a-z]+,)*$',
    '^"(?:[^"\\\\]|\\\\.)*"$',
    '^.*;$',
  ])
    t.equal(slow(regex), undefined, regex)
})

t.test('F-C12 no regular expression takes more than linear time', async t => {
  const slowOnes = readSources(packageRoot(), ['src', 'simulator/src'])
    // Texts of the operator, not of callers.
    .filter(({ path }) => !path.startsWith('src/config/') && !path.startsWith('src/cli/'))
    .flatMap(file => regexesOf(file).map(regex => ({ file, ...regex })))
    .filter(({ source }) => UNBOUNDED.test(source))
    .flatMap(({ file, source, flags, line }) => {
      const text = slow(source, flags)
      return text === undefined ? [] : [`${file.path}:${line} /${source}/ on ${JSON.stringify(text)}`]
    })
  t.same(slowOnes, [])
})
