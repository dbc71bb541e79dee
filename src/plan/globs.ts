/**
 * A pattern whose `*` stands for any text, the empty one included; every other character stands for itself. Matching
 * takes time linear in the text.
 */
export class Glob {
  readonly text: string
  readonly #head: string
  readonly #middle: readonly string[]
  readonly #tail: string | undefined

  constructor(text: string) {
    this.text = text
    const [head = '', ...rest] = text.split('*')
    this.#head = head
    this.#tail = rest.pop()
    this.#middle = rest.filter(piece => piece !== '')
  }

  matches(text: string): boolean {
    return this.capture(text) !== undefined
  }

  /**
   * What the first `*` stands for in `text`, as short as the pattern allows where there are several; `''` where the
   * pattern has none and is the text; `undefined` where the text does not match.
   */
  capture(text: string): string | undefined {
    if (this.#tail === undefined) return text === this.#head ? '' : undefined
    const end = text.length - this.#tail.length
    let at = this.#head.length
    if (at > end || !text.startsWith(this.#head) || !text.endsWith(this.#tail)) return undefined
    let first: number | undefined
    for (const piece of this.#middle) {
      const found = text.indexOf(piece, at)
      if (found < 0 || found + piece.length > end) return undefined
      first ??= found
      at = found + piece.length
    }
    return text.slice(this.#head.length, first ?? end)
  }
}

export function isGlob(text: string): boolean {
  return text.includes('*')
}

/** Whether two globs have a name in common. Compares UTF-16 code units, as {@link Glob} does. */
export function meet(one: string, other: string): boolean {
  // Whether what has been read of `one` and the first so many code units of `other` can match the same text.
  let row = [true]
  for (let at = 0; at < other.length; at++) row.push(other[at] === '*' && row[at] === true)
  for (let from = 0; from < one.length; from++) {
    const letter = one[from]
    const next = [letter === '*' && row[0] === true]
    for (let at = 1; at <= other.length; at++) {
      const last = other[at - 1]
      const star = letter === '*' || last === '*'
      next.push(star ? row[at] === true || next[at - 1] === true : letter === last && row[at - 1] === true)
    }
    row = next
  }
  return row[other.length] === true
}
