import type { DocumentPath } from './path-text.js'

/**
 * Which rules of a configuration take effect: verbs that change something, conditions that hold, limits that are met, failures that
 * lead elsewhere. Only `gateway test` asks; elsewhere nothing listens, and nothing is kept.
 */
interface RuleListener {
  /** A configuration was read that has a rule there. */
  placed(path: DocumentPath): void
  used(path: DocumentPath): void
}

type Part = string | number

let listener: RuleListener | undefined
let places = new WeakMap<object, Map<Part, DocumentPath>>()

/** One listens at a time, to all configurations that are read from now on. Returns what ends it. */
export function watchRules(hears: RuleListener): () => void {
  listener = hears
  return () => {
    listener = undefined
    places = new WeakMap()
  }
}

export function areRulesWatched(): boolean {
  return listener !== undefined
}

/** Where a rule, or a part of one, is written. */
export function placeRule(rule: object, path: DocumentPath, part: Part = ''): void {
  if (listener === undefined) return
  const known = places.get(rule) ?? new Map<Part, DocumentPath>()
  places.set(rule, known.set(part, path))
  listener.placed(path)
}

/** What was made of a rule stands for it. */
export function derivedRule<T extends object>(made: T, rule: object): T {
  const known = listener === undefined ? undefined : places.get(rule)
  if (known !== undefined) places.set(made, known)
  return made
}

/** Rules that no file of the user has are not known. */
export function ruleUsed(rule: object | undefined, part: Part = ''): void {
  if (listener === undefined || rule === undefined) return
  const path = places.get(rule)?.get(part)
  if (path !== undefined) listener.used(path)
}
