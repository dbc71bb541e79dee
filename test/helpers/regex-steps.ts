/**
 * Counts what a backtracking engine does for a regular expression, where a clock would tell as much of the machine. It
 * takes what this project writes: no back-references, no named groups of the same name.
 */

type Node =
  | { readonly kind: 'char'; readonly takes: (char: string) => boolean }
  | { readonly kind: 'at'; readonly holds: (text: string, at: number) => boolean }
  | { readonly kind: 'seq' | 'alt'; readonly items: readonly Node[] }
  | { readonly kind: 'repeat'; readonly item: Node; readonly min: number; readonly max: number; readonly lazy: boolean }
  | { readonly kind: 'look'; readonly item: Node; readonly ahead: boolean; readonly holds: boolean }

/** More steps than this are not counted: they are infinitely many. */
const MOST = 500_000

export class RegexSteps {
  readonly #root: Node
  readonly #flags: string
  readonly #chars: readonly string[]
  #steps = 0

  constructor(source: string, flags: string) {
    const parser = new Parser(source, flags)
    this.#root = parser.whole()
    this.#flags = flags
    this.#chars = [...parser.chars]
  }

  /** Texts of a length of about `n` that make careless expressions slow, each by what tells it from the others. */
  attacks(): readonly ((n: number) => string)[] {
    const example = this.#example(this.#root)
    const pumps = new Set([
      ...this.#chars,
      example,
      ...this.#chars.map((char, at) => char + (this.#chars[at + 1] ?? '')),
    ])
    return [...pumps].flatMap(pump => {
      if (pump === '') return []
      const places = Array.from({ length: Math.min(example.length, 16) + 1 }, (_, at) => at)
      return places.flatMap(at =>
        ['', '\0', `${example.slice(at)}\0`].map(
          end => (n: number) => example.slice(0, at) + pump.repeat(Math.ceil(n / pump.length)) + end,
        ),
      )
    })
  }

  /** Steps of a search through the text: for the first match, or with the flag `g` for all. */
  count(text: string): number {
    this.#steps = 0
    try {
      let at = 0
      do at = this.#search(text, at)
      while (this.#flags.includes('g') && at <= text.length)
    } catch (error) {
      if (!(error instanceof TooMany)) throw error
      return Number.POSITIVE_INFINITY
    }
    return this.#steps
  }

  /** Where to continue; behind the end where nothing was found. */
  #search(text: string, from: number): number {
    let end = text.length + 1
    const found = (at: number): boolean => {
      end = at
      return true
    }
    for (let at = from; at <= text.length; at += 1) {
      if (this.#match(this.#root, text, at, found)) return end === at ? at + 1 : end
      if (this.#flags.includes('y')) break
    }
    return text.length + 1
  }

  #match(node: Node, text: string, at: number, next: (at: number) => boolean): boolean {
    this.#steps += 1
    if (this.#steps > MOST) throw new TooMany()
    switch (node.kind) {
      case 'char':
        return at < text.length && node.takes(text[at] as string) && next(at + 1)
      case 'at':
        return node.holds(text, at) && next(at)
      case 'alt':
        return node.items.some(item => this.#match(item, text, at, next))
      case 'seq':
        return this.#sequence(node.items, 0, text, at, next)
      case 'repeat':
        return this.#repeat(node, 0, text, at, next)
      case 'look': {
        const start = node.ahead ? at : at - widthOf(node.item)
        const seen = start >= 0 && this.#match(node.item, text, start, end => node.ahead || end === at)
        return seen === node.holds && next(at)
      }
    }
  }

  #sequence(items: readonly Node[], index: number, text: string, at: number, next: (at: number) => boolean): boolean {
    const item = items[index]
    if (item === undefined) return next(at)
    return this.#match(item, text, at, end => this.#sequence(items, index + 1, text, end, next))
  }

  #repeat(
    node: Extract<Node, { kind: 'repeat' }>,
    count: number,
    text: string,
    at: number,
    next: (at: number) => boolean,
  ): boolean {
    const more = (): boolean =>
      count < node.max &&
      this.#match(
        node.item,
        text,
        at,
        end => (end !== at || count < node.min) && this.#repeat(node, count + 1, text, end, next),
      )
    const enough = (): boolean => count >= node.min && next(at)
    return node.lazy ? enough() || more() : more() || enough()
  }

  /** A short text that matches, or nearly so. */
  #example(node: Node): string {
    switch (node.kind) {
      case 'char':
        return this.#chars.find(node.takes) ?? ''
      case 'alt':
        return this.#example(node.items[0] as Node)
      case 'seq':
        return node.items.map(item => this.#example(item)).join('')
      case 'repeat':
        return this.#example(node.item).repeat(Math.max(1, Math.min(node.min, 8)))
      default:
        return ''
    }
  }
}

class TooMany extends Error {}

/** Characters that a look behind goes back, which have to be as many on each way. */
function widthOf(node: Node): number {
  if (node.kind === 'char') return 1
  if (node.kind === 'seq') return node.items.reduce((sum, item) => sum + widthOf(item), 0)
  throw new Error(`a look behind at a ${node.kind}`)
}

/** One of each sort; those of the expression itself come before them. */
const USUAL = [...'a0 Z_-./:"\\[{\n\r~é']

class Parser {
  readonly #source: string
  readonly #flags: string
  readonly chars = new Set<string>()
  readonly #classes: ((char: string) => boolean)[] = []
  #at = 0

  constructor(source: string, flags: string) {
    this.#source = source
    this.#flags = flags
  }

  whole(): Node {
    const node = this.#alternatives()
    if (this.#at < this.#source.length) throw new Error(`not understood: ${this.#source.slice(this.#at)}`)
    // Of each class one or two that it takes.
    for (const takes of this.#classes) for (const char of USUAL.filter(takes).slice(0, 2)) this.chars.add(char)
    return node
  }

  #alternatives(): Node {
    const items = [this.#sequence()]
    while (this.#source[this.#at] === '|') {
      this.#at += 1
      items.push(this.#sequence())
    }
    return items.length === 1 ? (items[0] as Node) : { kind: 'alt', items }
  }

  #sequence(): Node {
    const items: Node[] = []
    while (this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at] as string))
      items.push(this.#quantified())
    return { kind: 'seq', items }
  }

  #quantified(): Node {
    const item = this.#atom()
    const [all, text = '', lazy] = /^(\*|\+|\?|\{\d+(?:,\d*)?\})(\?)?/.exec(this.#source.slice(this.#at)) ?? []
    if (all === undefined) return item
    this.#at += all.length
    const [from = '', to = from] = text.slice(1, -1).split(',')
    const bounds = { '*': [0, Number.POSITIVE_INFINITY], '+': [1, Number.POSITIVE_INFINITY], '?': [0, 1] } as const
    const [min, max] =
      text[0] === '{' ? [Number(from), to === '' ? Number.POSITIVE_INFINITY : Number(to)] : bounds[text as '*']
    return { kind: 'repeat', item, min, max, lazy: lazy !== undefined }
  }

  #atom(): Node {
    const first = this.#source[this.#at] as string
    if (first === '(') return this.#group()
    const rest = this.#source.slice(this.#at)
    const [text = first] =
      /^(?:\[(?:[^\]\\]|\\.)*\]|\\p\{\w+\}|\\x[0-9a-f]{2}|\\u\{?[0-9a-f]+\}?|\\.)/i.exec(rest) ?? []
    this.#at += text.length
    if (text === '^') return { kind: 'at', holds: (all, at) => at === 0 || (this.#has('m') && all[at - 1] === '\n') }
    if (text === '$')
      return { kind: 'at', holds: (all, at) => at === all.length || (this.#has('m') && all[at] === '\n') }
    if (text === '\\b' || text === '\\B') {
      const isWord = (char = ''): boolean => /\w/.test(char)
      return { kind: 'at', holds: (all, at) => (isWord(all[at - 1]) !== isWord(all[at])) === (text === '\\b') }
    }
    if (/^\\[1-9k]/.test(text)) throw new Error(`a back-reference: ${text}`)
    return { kind: 'char', takes: this.#taking(text) }
  }

  /** Whether the atom takes a character, looked up once for each. */
  #taking(text: string): (char: string) => boolean {
    const regex = new RegExp(`^(?:${text})$`, this.#flags.replace(/[gy]/g, ''))
    const known = new Map<string, boolean>()
    const takes = (char: string): boolean => {
      const before = known.get(char)
      if (before !== undefined) return before
      const is = regex.test(char)
      known.set(char, is)
      return is
    }
    const literal = /^\\?([^\w\s])$|^(\w)$/.exec(text)
    const char = literal?.[1] ?? literal?.[2]
    if (char !== undefined && takes(char) && text !== '.') this.chars.add(char)
    else this.#classes.push(takes)
    return takes
  }

  #group(): Node {
    const opening = /^\((?:\?(?:[:=!]|<[=!]|<\w+>))?/.exec(this.#source.slice(this.#at))?.[0] ?? '('
    this.#at += opening.length
    const item = this.#alternatives()
    this.#at += 1
    const look = /^\(\?(<?)([=!])$/.exec(opening)
    return look === null ? item : { kind: 'look', item, ahead: look[1] === '', holds: look[2] === '=' }
  }

  #has(flag: string): boolean {
    return this.#flags.includes(flag)
  }
}
