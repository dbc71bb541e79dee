import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { messageOf } from '../api.js'
import { listen, newContext, RATE } from './sound.js'

/** Longest recording, seconds. */
const MAX_SECONDS = 60

/** A file of what the microphone hears until one says stop. */
export function RecordSound({ onSound }: { readonly onSound: (sound: File) => void }) {
  const seconds = useSignal<number | undefined>(undefined)
  const error = useSignal<string | undefined>(undefined)
  const stop = useRef<() => void>(() => undefined)
  useEffect(() => () => stop.current(), [])
  const start = async (): Promise<void> => {
    error.value = undefined
    seconds.value = 0
    const context = newContext()
    const pieces: Int16Array[] = []
    const end = (): void => {
      stop.current = () => undefined
      void context.close()
      seconds.value = undefined
    }
    stop.current = end
    try {
      const leave = await listen(context, samples => {
        pieces.push(samples)
        seconds.value = (pieces.length * samples.length) / RATE
        if (seconds.value >= MAX_SECONDS) stop.current()
      })
      if (seconds.value === undefined) return leave()
      stop.current = () => {
        leave()
        end()
        if (pieces.length > 0) onSound(waveOf(pieces))
      }
    } catch (cause) {
      end()
      error.value = messageOf(cause)
    }
  }
  return (
    <>
      {seconds.value === undefined ? (
        <button type="button" class="btn" onClick={() => void start()}>
          Record
        </button>
      ) : (
        <button type="button" class="btn danger" onClick={() => stop.current()}>
          Stop recording, {seconds.value.toFixed(1)} s
        </button>
      )}
      {error.value === undefined ? null : (
        <span class="bad" role="alert">
          {error.value}
        </span>
      )}
    </>
  )
}

/** RIFF WAVE of 16-bit samples, one channel. */
function waveOf(pieces: readonly Int16Array[]): File {
  const size = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const head = new DataView(new ArrayBuffer(44))
  const word = (at: number, text: string): void => {
    for (let index = 0; index < text.length; index++) head.setUint8(at + index, text.charCodeAt(index))
  }
  word(0, 'RIFF')
  head.setUint32(4, 36 + size, true)
  word(8, 'WAVEfmt ') // cspell:disable-line
  head.setUint32(16, 16, true)
  head.setUint16(20, 1, true)
  head.setUint16(22, 1, true)
  head.setUint32(24, RATE, true)
  head.setUint32(28, RATE * 2, true)
  head.setUint16(32, 2, true)
  head.setUint16(34, 16, true)
  word(36, 'data')
  head.setUint32(40, size, true)
  const parts = pieces.map(piece => new Int16Array(piece))
  return new File([head.buffer, ...parts], 'recording.wav', { type: 'audio/wav' })
}
