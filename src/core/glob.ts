/**
 * A pattern whose `*` stands for any text, the empty one included; every other character stands for itself. Matching
 * takes time linear in the text.
 */
export class Glob {
  readonly text: string
  readonly #head: string
  readonly #middle: readonly string[]
  readonly #tail: string | undefined
  readonly #questionMark: boolean

  /** With `questionMark`, `?` stands for one UTF-16 code unit: for file names, which are short. */
  constructor(text: string, questionMark = false) {
    this.text = text
    this.#questionMark = questionMark && text.includes('?')
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
    const isHead = this.#isAt(text, this.#head, 0)
    if (this.#tail === undefined) return isHead && text.length === this.#head.length ? '' : undefined
    const end = text.length - this.#tail.length
    let at = this.#head.length
    if (at > end || !isHead || !this.#isAt(text, this.#tail, end)) return undefined
    let first: number | undefined
    for (const piece of this.#middle) {
      const found = this.#find(text, piece, at)
      if (found < 0 || found + piece.length > end) return undefined
      first ??= found
      at = found + piece.length
    }
    return text.slice(this.#head.length, first ?? end)
  }

  #isAt(text: string, piece: string, at: number): boolean {
    if (!this.#questionMark) return text.startsWith(piece, at)
    if (at + piece.length > text.length) return false
    for (let i = 0; i < piece.length; i++) if (piece[i] !== '?' && piece[i] !== text[at + i]) return false
    return true
  }

  #find(text: string, piece: string, from: number): number {
    if (!this.#questionMark) return text.indexOf(piece, from)
    for (let at = from; at + piece.length <= text.length; at++) if (this.#isAt(text, piece, at)) return at
    return -1
  }
}

export function isGlob(text: string): boolean {
  return text.includes('*')
}

/**
 * Whether two names or globs have a text in common. Of two globs only the ends can contradict: between them, each `*`
 * takes what the other glob asks for.
 */
export function overlap(one: string, other: string): boolean {
  if (!isGlob(one)) return new Glob(other).matches(one)
  if (!isGlob(other)) return new Glob(one).matches(other)
  const [start, otherStart] = [one.slice(0, one.indexOf('*')), other.slice(0, other.indexOf('*'))]
  const [end, otherEnd] = [one.slice(one.lastIndexOf('*') + 1), other.slice(other.lastIndexOf('*') + 1)]
  return (
    (start.startsWith(otherStart) || otherStart.startsWith(start)) && (end.endsWith(otherEnd) || otherEnd.endsWith(end))
  )
}
