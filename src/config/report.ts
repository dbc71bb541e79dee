import type { Problem } from '../core/problems.js'
import type { Site, Spot } from './document.js'
import { looksLikeKey } from './secret-lines.js'

/** Errors beyond this number are dropped, and warnings: a broken generator must not fill the memory or the log. */
const MAX_PROBLEMS = 1000
/** Suggestions cost time, so only the first problems get them. */
const MAX_SUGGESTIONS = 100

export interface Details {
  /** What the caret points at: the value at the path (the default), or its name. */
  readonly on?: 'key' | 'value'
  /** Looks for what the author probably meant. */
  readonly meant?: () => string | undefined
  /** The line holds a secret and must not be shown. */
  readonly secret?: boolean
  /** The section whose names are asked for: where it could not be read at all, nothing can be said of them. */
  readonly of?: string
  /** Sections whose content decides: where one has an error, this may only follow from it. */
  readonly from?: readonly string[]
  /** A more exact place than the path gives. */
  readonly spot?: Spot
}

/** Gathers the problems of one load. The same problem at the same place is reported once. */
export class Report {
  readonly #problems: Problem[] = []
  readonly #counts = { error: 0, warning: 0, note: 0 }
  /** Sections that cannot be read as a whole, and those with any error. */
  readonly #lost = new Set<string>()
  readonly #broken = new Set<string>()
  readonly #reported = new Set<string>()
  /** Texts whose variables could not be filled in, as they are written: that is reported, and nothing else needs to be. */
  readonly unfilled: Set<string>

  /** `unfilled`: that of another report, for one whose problems do not count or are reported elsewhere. */
  constructor(unfilled = new Set<string>()) {
    this.unfilled = unfilled
  }

  /** Notes that a section cannot be read as a whole, so that not all names in it are known. */
  lose(section: string): void {
    this.#lost.add(section)
    this.#broken.add(section)
  }

  error(rule: string, site: Site, message: string, details: Details = {}): void {
    this.#tell('error', rule, site, message, details)
  }

  warn(rule: string, site: Site, message: string, details: Details = {}): void {
    this.#tell('warning', rule, site, message, details)
  }

  add(problem: Problem): void {
    const { file, line, column } = problem.position
    const identity = JSON.stringify([file, line, column, problem.rule, problem.message])
    if (this.#reported.has(identity) || this.#isFull(problem.severity)) return
    this.#reported.add(identity)
    this.#counts[problem.severity]++
    this.#problems.push(problem)
  }

  get failed(): boolean {
    return this.#counts.error > 0
  }

  #isFull(severity: Problem['severity']): boolean {
    return this.#counts[severity] >= MAX_PROBLEMS
  }

  /** All problems, by file, line and column. */
  sorted(): readonly Problem[] {
    return [...this.#problems].sort(
      ({ position: a }, { position: b }) => compare(a.file, b.file) || a.line - b.line || a.column - b.column,
    )
  }

  #onlyFollows({ of, from = [] }: Details): boolean {
    return (of !== undefined && this.#lost.has(of)) || from.some(section => this.#broken.has(section))
  }

  #tell(severity: Problem['severity'], rule: string, site: Site, message: string, details: Details): void {
    if (this.#isFull(severity) || this.#onlyFollows(details)) return
    if (severity === 'error') this.#broken.add(String(site.path[0]))
    const spot = details.spot ?? site.document.spot(site.path, details.on ?? 'value')
    const suggestion = this.#problems.length < MAX_SUGGESTIONS ? details.meant?.() : undefined
    this.add({
      severity,
      rule,
      path: site.text,
      message,
      position: spot.position,
      length: spot.length,
      ...(suggestion === undefined ? {} : { suggestion }),
      ...(spot.excerpt === undefined || details.secret ? {} : { excerpt: spot.excerpt }),
    })
  }
}

/** A name as messages show it: in quotes, not without end, and not where it looks like a key that went astray. */
export function quoted(name: string): string {
  if (looksLikeKey(name)) return '"…"'
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 79)}…` : name)
}

/** A short list of names as messages show it, or `undefined` where there are none or too many to read. */
export function listed(names: Iterable<string>): string | undefined {
  const all = [...names]
  return all.length === 0 || all.length > 12 ? undefined : all.join(', ')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
