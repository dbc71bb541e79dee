/**
 * How deeply unbounded quantifiers of a regular expression are nested where they can share characters. Two or more
 * (`(a+)*`) is what exponential backtracking is made of; `(-\s+)*` counts as one, for every round begins with a `-` that
 * nothing within the round can take.
 */
export function starHeight(pattern: string): number {
  return new Walk(pattern).alternatives().height
}

interface Part {
  readonly height: number
  /** Sources of the atoms below that are repeated without bound. */
  readonly repeated: readonly string[]
  /** The character that every match begins with, where there is just one. */
  readonly first: string | undefined
}

const NOTHING: Part = { height: 0, repeated: [], first: undefined }

class Walk {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  alternatives(): Part {
    const parts: Part[] = []
    let alternative = 0
    while (this.#at < this.#text.length && this.#text[this.#at] !== ')') {
      if (this.#text[this.#at] === '|') {
        this.#at += 1
        alternative += 1
      } else parts.push(this.#quantified())
    }
    return {
      height: Math.max(0, ...parts.map(part => part.height)),
      repeated: parts.flatMap(part => part.repeated),
      first: alternative === 0 ? parts[0]?.first : undefined,
    }
  }

  #quantified(): Part {
    const start = this.#at
    const part = this.#atom()
    const source = this.#text.slice(start, this.#at)
    const quantifier = /^(\*|\+|\?|\{\d+(,\d*)?\})\??/.exec(this.#text.slice(this.#at))?.[0]
    if (quantifier === undefined) return part
    this.#at += quantifier.length
    if (!/^[*+]|,\}/.test(quantifier)) return { ...part, first: undefined }
    const rounds = isDelimited(part) ? Math.max(1, part.height) : part.height + 1
    return { height: rounds, repeated: [...part.repeated, source], first: undefined }
  }

  #atom(): Part {
    const first = this.#text[this.#at]
    if (first === '(') return this.#group()
    const start = this.#at
    if (first === '[') this.#at = this.#endOfClass()
    else this.#at += first === '\\' ? 2 : 1
    const source = this.#text.slice(start, this.#at)
    return { ...NOTHING, first: /^(\\[^\w]|[^\\[.^$])$/.test(source) ? source.slice(-1) : undefined }
  }

  #group(): Part {
    const opening = /^\((\?(:|=|!|<=|<!|<\w+>))?/.exec(this.#text.slice(this.#at))?.[0] ?? '('
    this.#at += opening.length
    const inner = this.alternatives()
    this.#at += 1
    return /[=!]$/.test(opening) ? { ...inner, first: undefined } : inner
  }

  #endOfClass(): number {
    let at = this.#at + 1
    while (this.#text[at] !== ']') at += this.#text[at] === '\\' ? 2 : 1
    return at + 1
  }
}

function isDelimited({ first, repeated }: Part): boolean {
  return first !== undefined && repeated.every(source => !new RegExp(`^(?:${source})`).test(first))
}
