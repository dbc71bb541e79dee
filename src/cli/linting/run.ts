import { pathText } from '../../core/path-text.js'
import type { Problem } from '../../core/problems.js'
import type { LocatedPlan } from '../../runtime/load.js'
import type { Linted } from './rule.js'
import { EXPLAINED, RULES } from './rules.js'
import { Switches } from './switch-off.js'

/** What a rule may find in one configuration; the rest is counted. */
const MAX_FINDINGS = 100

/** Everything that is found, by file and line: what `validate` says, and what the rules find, without what comments switch off. */
export function lintPlan(loaded: LocatedPlan, texts: ReadonlyMap<string, string>, now: number): readonly Problem[] {
  const { plan, config } = loaded
  const found = plan === undefined || config === undefined ? [] : findings({ plan, config, now }, loaded)
  const files = new Map([...texts].map(([file, text]) => [file, new Switches(file, text)]))
  const left = [...loaded.problems, ...found].filter(
    problem =>
      (problem.severity === 'error' && !isOwn(problem.rule)) ||
      files.get(problem.position.file)?.covers(problem) !== true,
  )
  const known = new Set(EXPLAINED.map(({ id }) => id))
  // Where the file is not valid, the rules have not looked: nothing can be said of their switches.
  const faults = plan === undefined ? [] : [...files.values()].flatMap(file => [...file.faults(known)])
  return [...left, ...faults].sort(byPlace)
}

function isOwn(rule: string): boolean {
  return RULES.some(({ id }) => id === rule)
}

function findings(linted: Linted, { locate }: LocatedPlan): readonly Problem[] {
  return RULES.flatMap(rule => {
    const problems: Problem[] = []
    let more = 0
    for (const { path, message } of rule.check(linted)) {
      if (problems.length === MAX_FINDINGS) {
        more++
        continue
      }
      const text = pathText(path)
      problems.push({ severity: rule.severity, rule: rule.id, path: text, message, ...locate(text, 'key') })
    }
    const last = problems.at(-1)
    if (more === 0 || last === undefined) return problems
    return [...problems.slice(0, -1), { ...last, message: `${last.message}; and ${more} more like this` }]
  })
}

function byPlace({ position: a }: Problem, { position: b }: Problem): number {
  return a.file === b.file ? a.line - b.line || a.column - b.column : a.file < b.file ? -1 : 1
}
