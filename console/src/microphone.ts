/** Runs beside the page, on the thread of sounds: what the microphone hears becomes 16-bit samples, a tenth of a second at a time. */
declare class AudioWorkletProcessor {
  readonly port: MessagePort
}
declare function registerProcessor(name: string, processor: unknown): void
declare const sampleRate: number

class Microphone extends AudioWorkletProcessor {
  readonly #samples = new Int16Array(Math.round(sampleRate / 10))
  #at = 0

  process([input]: readonly (readonly Float32Array[])[]): boolean {
    for (const sample of input?.[0] ?? []) {
      this.#samples[this.#at++] = Math.max(-1, Math.min(1, sample)) * 32_767
      if (this.#at < this.#samples.length) continue
      this.#at = 0
      this.port.postMessage(this.#samples.slice())
    }
    return true
  }
}

registerProcessor('microphone', Microphone)
