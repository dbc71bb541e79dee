import type { Part, TextEvent } from '../../src/core/text.js'
import { fc } from '../helpers/property.js'

/** Parts of one answer, each with the pieces in which its text comes. */
type Piece = { readonly part: Part; readonly pieces: readonly string[] }

const words = fc.array(fc.string({ unit: 'grapheme', maxLength: 6 }), { maxLength: 4 })

const json = fc
  .dictionary(fc.string({ maxLength: 4 }), fc.oneof(fc.string({ maxLength: 4 }), fc.integer(), fc.boolean()), {
    maxKeys: 3,
  })
  .chain(value => {
    const text = JSON.stringify(value)
    return fc.array(fc.nat(text.length), { maxLength: 4 }).map(cuts => pieces(text, cuts))
  })

function pieces(text: string, cuts: readonly number[]): string[] {
  const at = [0, ...[...cuts].sort((a, b) => a - b), text.length]
  return at.slice(1).map((end, i) => text.slice(at[i], end))
}

/** One block of text or thoughts, or several calls whose arguments come at the same time. */
const block: fc.Arbitrary<Piece[]> = fc.oneof(
  words.map(pieces => [{ part: { type: 'text', text: '' } as Part, pieces }]),
  words.map(pieces => [{ part: { type: 'reasoning', text: '' } as Part, pieces: ['I think. ', ...pieces] }]),
  fc
    .array(json, { minLength: 1, maxLength: 3 })
    .map(all =>
      all.map(pieces => ({ part: { type: 'call', id: '', name: 'weather', arguments: '' } as Part, pieces })),
    ),
)

/** Streams of events as decoders give them: whatever order the pieces of parallel calls come in. */
export const streams: fc.Arbitrary<TextEvent[]> = fc
  .tuple(fc.array(block, { maxLength: 4 }), fc.infiniteStream(fc.nat({ max: 99 })))
  .map(([blocks, random]) => {
    const events: TextEvent[] = [{ type: 'start', id: 'answer-1', model: 'upstream-model', created: 1_700_000_000 }]
    let index = 0
    let calls = 0
    for (const parts of blocks) {
      const open = parts.map(({ part, pieces }) => {
        calls += part.type === 'call' ? 1 : 0
        const own = part.type === 'call' ? { ...part, id: `call_${calls}` } : part
        return { events: partEvents(index++, own, pieces) }
      })
      events.push(...interleave(open, random))
    }
    const reason = calls > 0 ? 'tool' : 'stop'
    return [
      ...events,
      { type: 'end', candidate: 0, end: { reason } },
      { type: 'finish', usage: { input: 3, output: 2 } },
    ]
  })

function partEvents(index: number, part: Part, pieces: readonly string[]): TextEvent[] {
  const place = { candidate: 0, index }
  return [
    { type: 'part-start', ...place, part },
    ...pieces.map(text => ({ type: 'part-delta' as const, ...place, text })),
    { type: 'part-end', ...place },
  ]
}

/** Merges them at random. Parts still start in the order of their index. */
function interleave(parts: { events: TextEvent[] }[], random: IterableIterator<number>): TextEvent[] {
  const merged: TextEvent[] = []
  let started = 0
  while (parts.some(({ events }) => events.length > 0)) {
    const ready = parts.filter(({ events }, i) => events.length > 0 && i <= started)
    const chosen = ready[(random.next().value as number) % ready.length]
    const event = chosen?.events.shift()
    if (event === undefined) break
    if (event.type === 'part-start') started += 1
    merged.push(event)
  }
  return merged
}
