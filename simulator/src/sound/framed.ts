import { tonesOf, type Utterance } from './speech.js'

/** Cuts an utterance into frames of so many samples: the frequency that sounds in the middle of each, 0 for silence. */
export function* framesOf(utterance: Utterance, size: number): Generator<readonly number[]> {
  let at = 0
  let next = 0
  for (const tones of tonesOf(utterance)) {
    const frames: number[] = []
    for (const { frequency, samples } of tones) {
      at += samples
      for (; next + size / 2 < at; next += size) frames.push(frequency)
    }
    if (frames.length > 0) yield frames
  }
  // What is left is less than half a frame: one more, so that nothing is cut off.
  if (next < at) yield [0]
}

/** How many frames that makes. */
export function frameCount(samples: number, size: number): number {
  const begun = Math.max(0, Math.ceil((samples - size / 2) / size))
  return begun * size < samples ? begun + 1 : begun
}

/** Frames are few and alike: each frequency is written once. */
export class FrameTable {
  readonly #made = new Map<number, Buffer>()
  readonly #make: (frequency: number) => Buffer

  constructor(make: (frequency: number) => Buffer) {
    this.#make = make
  }

  of(frequency: number): Buffer {
    const made = this.#made.get(frequency) ?? this.#make(frequency)
    this.#made.set(frequency, made)
    return made
  }
}
