/** Samples a second of realtime models. */
export const RATE = 24_000
/** Characters of binary text that are made at once. */
const PIECE = 8192

/** Plays pieces of sound one after the other. */
export class Speaker {
  readonly #context: AudioContext
  readonly #playing = new Set<AudioBufferSourceNode>()
  #end = 0

  constructor(context: AudioContext) {
    this.#context = context
  }

  /** `text`: 16-bit samples in Base64. */
  play(text: string): void {
    const bytes = Uint8Array.from(atob(text), one => one.charCodeAt(0))
    const samples = new Int16Array(bytes.buffer, 0, bytes.length >> 1)
    if (samples.length === 0) return
    const buffer = this.#context.createBuffer(1, samples.length, RATE)
    buffer.copyToChannel(
      Float32Array.from(samples, one => one / 32_768),
      0,
    )
    const source = this.#context.createBufferSource()
    source.buffer = buffer
    source.connect(this.#context.destination)
    this.#playing.add(source)
    source.onended = () => this.#playing.delete(source)
    this.#end = Math.max(this.#end, this.#context.currentTime)
    source.start(this.#end)
    this.#end += buffer.duration
  }

  /** Someone else speaks. */
  hush(): void {
    for (const source of this.#playing) source.stop()
    this.#playing.clear()
    this.#end = 0
  }
}

export function newContext(): AudioContext {
  return new AudioContext({ sampleRate: RATE })
}

/** Samples of the microphone, a tenth of a second at a time, until what it resolves with is called. Rejects where there is none. */
export async function listen(context: AudioContext, onSamples: (samples: Int16Array) => void): Promise<() => void> {
  if (navigator.mediaDevices === undefined)
    throw new Error(
      'Browsers give the microphone to pages with https, or on this machine, alone. You can write instead.',
    )
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, echoCancellation: true } })
  await context.audioWorklet.addModule('/microphone.js')
  const node = new AudioWorkletNode(context, 'microphone', { numberOfOutputs: 0 })
  node.port.onmessage = ({ data }: MessageEvent<Int16Array>) => onSamples(data)
  const source = context.createMediaStreamSource(stream)
  source.connect(node)
  return () => {
    source.disconnect()
    for (const track of stream.getTracks()) track.stop()
  }
}

export function base64OfSamples(samples: Int16Array): string {
  const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength)
  let text = ''
  for (let at = 0; at < bytes.length; at += PIECE) text += String.fromCharCode(...bytes.subarray(at, at + PIECE))
  return btoa(text)
}
