import type { Seed } from '../seed.js'
import { type PatternNode, readPattern } from './pattern.js'

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
