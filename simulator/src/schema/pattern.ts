import type { Seed } from '../seed.js'

const MAX_PATTERN_CHARS = 500
const DIGITS = range('0', '9')
const LOWER = range('a', 'z')
const UPPER = range('A', 'Z')
const WORD = [...LOWER, ...UPPER, ...DIGITS, '_']
/** Some of the characters of a Unicode property. */
const PROPERTIES = new Map([
  ['L', LOWER],
  ['Ll', LOWER],
  ['Lu', UPPER],
  ['N', DIGITS],
  ['Nd', DIGITS],
])
const PRINTABLE = range(' ', '~')

type PatternNode =
  | { readonly type: 'any'; readonly of: readonly string[] }
  | { readonly type: 'sequence'; readonly nodes: readonly PatternNode[] }
  | { readonly type: 'either'; readonly nodes: readonly PatternNode[] }
  | { readonly type: 'repeat'; readonly node: PatternNode; readonly least: number; readonly most: number }

const NOTHING: PatternNode = { type: 'sequence', nodes: [] }

/**
 * Reads a simple regular expression: literals, classes, groups, alternatives and counts. Nothing where the pattern uses
 * more (look-around, back-references, rare properties) or is long. The pattern is read, never run.
 */
function readPattern(pattern: string): PatternNode | undefined {
  if (pattern.length > MAX_PATTERN_CHARS) return undefined
  try {
    return new PatternReader(pattern).read()
  } catch (error) {
    if (error instanceof Unsupported) return undefined
    throw error
  }
}

class Unsupported extends Error {}

class PatternReader {
  readonly #pattern: string
  #at = 0

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  read(): PatternNode {
    const node = this.#either()
    if (this.#at < this.#pattern.length) throw new Unsupported()
    return node
  }

  #either(): PatternNode {
    const nodes = [this.#sequence()]
    while (this.#takes('|')) nodes.push(this.#sequence())
    return { type: 'either', nodes }
  }

  #sequence(): PatternNode {
    const nodes: PatternNode[] = []
    while (this.#at < this.#pattern.length && !'|)'.includes(this.#peek())) nodes.push(this.#counted(this.#atom()))
    return { type: 'sequence', nodes }
  }

  #counted(node: PatternNode): PatternNode {
    const [least, most] = this.#count()
    this.#takes('?')
    return least === 1 && most === 1 ? node : { type: 'repeat', node, least, most }
  }

  #count(): readonly [number, number] {
    if (this.#takes('*')) return [0, Number.POSITIVE_INFINITY]
    if (this.#takes('+')) return [1, Number.POSITIVE_INFINITY]
    if (this.#takes('?')) return [0, 1]
    const braces = /^\{(\d{1,4})(,(\d{0,4}))?\}/.exec(this.#pattern.slice(this.#at, this.#at + 12))
    if (braces === null) return [1, 1]
    this.#at += braces[0].length
    const least = Number(braces[1])
    if (braces[2] === undefined) return [least, least]
    return [least, braces[3] ? Number(braces[3]) : Number.POSITIVE_INFINITY]
  }

  #atom(): PatternNode {
    const next = this.#next()
    if (next === '^' || next === '$') return NOTHING
    if (next === '.') return { type: 'any', of: LOWER }
    if (next === '[') return this.#class()
    if (next === '(') return this.#group()
    if (next === '\\') return { type: 'any', of: this.#escape() }
    if ('*+?{'.includes(next)) throw new Unsupported()
    return { type: 'any', of: [next] }
  }

  #group(): PatternNode {
    if (this.#takes('?') && !this.#takes(':')) throw new Unsupported()
    const node = this.#either()
    if (!this.#takes(')')) throw new Unsupported()
    return node
  }

  #class(): PatternNode {
    const negated = this.#takes('^')
    const listed: string[] = []
    while (!this.#takes(']')) {
      const from = this.#member()
      const isRange = this.#peek() === '-' && this.#pattern[this.#at + 1] !== ']'
      if (isRange) this.#at += 1
      const to = isRange ? this.#member() : from
      listed.push(...(isRange ? range(from[0] ?? '', to[0] ?? '') : from))
    }
    const of = negated ? PRINTABLE.filter(each => !listed.includes(each)) : listed
    if (of.length === 0) throw new Unsupported()
    return { type: 'any', of }
  }

  #member(): readonly string[] {
    const next = this.#next()
    return next === '\\' ? this.#escape() : [next]
  }

  #escape(): readonly string[] {
    const next = this.#next()
    if (next === 'd') return DIGITS
    if (next === 'w') return WORD
    if (next === 's') return [' ']
    if (next === 'D' || next === 'S') return LOWER
    if (next === 'W') return ['-']
    if (next === 'n') return ['\n']
    if (next === 't') return ['\t']
    if (next === 'p') return this.#property()
    if (WORD.includes(next)) throw new Unsupported()
    return [next]
  }

  #property(): readonly string[] {
    const [whole = '', name = ''] = /^\{(\w{1,2})\}/.exec(this.#pattern.slice(this.#at, this.#at + 4)) ?? []
    const of = PROPERTIES.get(name)
    if (of === undefined) throw new Unsupported()
    this.#at += whole.length
    return of
  }

  #peek(): string {
    return this.#pattern.charAt(this.#at)
  }

  #next(): string {
    const next = this.#peek()
    if (next === '') throw new Unsupported()
    this.#at += 1
    return next
  }

  #takes(character: string): boolean {
    if (this.#peek() !== character) return false
    this.#at += 1
    return true
  }
}

function range(from: string, to: string): readonly string[] {
  const first = from.charCodeAt(0)
  const length = Math.min(Math.max(0, to.charCodeAt(0) - first + 1), 256)
  return Array.from({ length }, (_, index) => String.fromCharCode(first + index))
}

const MAX_TEXT_CHARS = 1000
const MAX_STEPS = 10_000

/** A text that the pattern matches, of at least so many characters where its counts allow that; nothing if unread. */
export function textForPattern(pattern: string, seed: Seed, least: number): string | undefined {
  const node = readPattern(pattern)
  if (node === undefined) return undefined
  const shortest = new Writer(seed, 0).write(node)
  const lacking = least - shortest.length
  return lacking <= 0 ? shortest : new Writer(seed, lacking).write(node)
}

/** Counts without an upper bound are taken `extra` times more than they must be. */
class Writer {
  readonly #seed: Seed
  readonly #extra: number
  #drawn = 0
  #length = 0
  #steps = 0

  constructor(seed: Seed, extra: number) {
    this.#seed = seed
    this.#extra = extra
  }

  write(node: PatternNode): string {
    this.#steps += 1
    switch (node.type) {
      case 'any':
        this.#length += 1
        return node.of[this.#draw(node.of.length)] ?? ''
      case 'sequence':
        return node.nodes.map(each => this.write(each)).join('')
      case 'either':
        return this.write(node.nodes[this.#draw(node.nodes.length)] ?? { type: 'sequence', nodes: [] })
      case 'repeat':
        return this.#repeat(node)
    }
  }

  #repeat({ node, least, most }: PatternNode & { type: 'repeat' }): string {
    const times = Math.min(most, least + this.#extra)
    let text = ''
    for (let done = 0; done < times && this.#length < MAX_TEXT_CHARS && this.#steps < MAX_STEPS; done += 1)
      text += this.write(node)
    return text
  }

  #draw(bound: number): number {
    if (bound === 1) return 0
    this.#drawn += 1
    return this.#seed.fork('pattern', this.#drawn).below(bound)
  }
}
