import { SAMPLE_BYTES, SAMPLE_RATE } from '../../sound/wav.js'

/** Samples that are judged together: 10 ms. */
const WINDOW = SAMPLE_RATE / 100
/** A window whose loudest sample is under this is silence. */
const LOUD = 800

/** What was heard, and when, in milliseconds of all the sound of the session. */
export interface Heard {
  readonly what: 'start' | 'stop'
  readonly at: number
}

/** Listens for speech: it begins with the first window that is loud, and ends when so many milliseconds were silent. */
export class Ears {
  #rest: Buffer = Buffer.alloc(0)
  #milliseconds = 0
  #speaking = false
  #silent = 0

  /** Samples of 16 bits, little-endian, on one channel at 24 kHz, cut anywhere. */
  hear(bytes: Buffer, silence: number): readonly Heard[] {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    const size = WINDOW * SAMPLE_BYTES
    const heard: Heard[] = []
    let at = 0
    for (; at + size <= all.length; at += size) {
      this.#milliseconds += 10
      const loud = isLoud(all, at, at + size)
      this.#silent = loud ? 0 : this.#silent + 10
      if (loud && !this.#speaking) {
        this.#speaking = true
        heard.push({ what: 'start', at: this.#milliseconds - 10 })
      } else if (this.#speaking && this.#silent >= silence) {
        this.#speaking = false
        heard.push({ what: 'stop', at: this.#milliseconds })
      }
    }
    this.#rest = Buffer.from(all.subarray(at))
    return heard
  }
}

function isLoud(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += SAMPLE_BYTES) if (Math.abs(bytes.readInt16LE(at)) >= LOUD) return true
  return false
}
