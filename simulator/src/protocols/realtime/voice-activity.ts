import { SAMPLE_BYTES, SAMPLE_RATE } from '../../sound/wav.js'

/** Samples per analysis window: 10 ms. */
const WINDOW_SAMPLES = SAMPLE_RATE / 100
/** A window is silent if its loudest sample is below this amplitude. */
const SPEECH_THRESHOLD = 800

/** Speech started or stopped. `at`: milliseconds of session audio. */
interface VoiceEvent {
  readonly what: 'start' | 'stop'
  readonly at: number
}

/** Detects speech: it starts with the first loud window, and stops after a given number of silent milliseconds. */
export class VoiceActivity {
  #rest: Buffer = Buffer.alloc(0)
  #milliseconds = 0
  #speaking = false
  #silent = 0

  /** `bytes`: 16-bit little-endian mono samples at 24 kHz, cut anywhere. `silence`: milliseconds. */
  detect(bytes: Buffer, silence: number): readonly VoiceEvent[] {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    const size = WINDOW_SAMPLES * SAMPLE_BYTES
    const events: VoiceEvent[] = []
    let at = 0
    for (; at + size <= all.length; at += size) {
      this.#milliseconds += 10
      const loud = isLoud(all, at, at + size)
      this.#silent = loud ? 0 : this.#silent + 10
      if (loud && !this.#speaking) {
        this.#speaking = true
        events.push({ what: 'start', at: this.#milliseconds - 10 })
      } else if (this.#speaking && this.#silent >= silence) {
        this.#speaking = false
        events.push({ what: 'stop', at: this.#milliseconds })
      }
    }
    this.#rest = Buffer.from(all.subarray(at))
    return events
  }
}

function isLoud(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += SAMPLE_BYTES)
    if (Math.abs(bytes.readInt16LE(at)) >= SPEECH_THRESHOLD) return true
  return false
}
