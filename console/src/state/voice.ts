import { signal } from '@preact/signals'
import { base64OfSamples, listen, newContext, Speaker } from '../ui/sound.js'

interface Turn {
  readonly id: string
  readonly who: 'You' | 'Model'
  readonly text: string
}

/** What a message of the session may have. */
interface Message {
  readonly type?: string
  readonly delta?: string
  readonly transcript?: string
  readonly item_id?: string
  readonly response_id?: string
  readonly error?: { readonly message?: string }
  readonly response?: { readonly usage?: { readonly input_tokens?: number; readonly output_tokens?: number } }
}

/** Turns and names of messages that are kept. */
const MAX_TURNS = 100
const MAX_EVENTS = 60

/** A spoken conversation with a realtime model. */
export class Conversation {
  readonly state = signal<'closed' | 'connecting' | 'open'>('closed')
  readonly turns = signal<readonly Turn[]>([])
  readonly events = signal<readonly string[]>([])
  readonly error = signal<string | undefined>(undefined)
  /** How loud it is at the microphone, 0 to 1; absent: it is off. */
  readonly level = signal<number | undefined>(undefined)
  readonly isHeard = signal(false)
  readonly tokens = signal(0)
  #socket: WebSocket | undefined
  #context: AudioContext | undefined
  #speaker: Speaker | undefined
  #stop: (() => void) | undefined

  async open(key: string, model: string): Promise<void> {
    this.close()
    this.state.value = 'connecting'
    this.error.value = undefined
    this.turns.value = []
    this.events.value = []
    this.tokens.value = 0
    this.#context = newContext()
    this.#speaker = new Speaker(this.#context)
    const query = new URLSearchParams({ key, model })
    const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/admin/play/realtime?${query}`)
    this.#socket = socket
    socket.onopen = () => {
      this.state.value = 'open'
    }
    socket.onmessage = ({ data }: MessageEvent<string>) => this.#take(JSON.parse(data) as Message)
    socket.onclose = ({ code, reason }) => {
      if (this.#socket !== socket) return
      const wasOpen = this.state.value === 'open'
      this.close()
      if (!wasOpen) this.error.value = 'The gateway refused it: see the latest requests for the cause.'
      else if (code !== 1000) this.error.value = `It was closed: ${code} ${reason}`
    }
    try {
      const stop = await listen(this.#context, samples => this.#hear(samples))
      if (this.#socket === socket) this.#stop = stop
      else stop()
    } catch (cause) {
      this.error.value = cause instanceof Error ? cause.message : String(cause)
    }
  }

  /** Says it in writing. */
  write(text: string): void {
    const item = { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
    this.#send({ type: 'conversation.item.create', item })
    this.#send({ type: 'response.create' })
    this.#add(`written ${this.turns.value.length}`, 'You', text)
  }

  close(): void {
    const socket = this.#socket
    this.#socket = undefined
    socket?.close(1000)
    this.#stop?.()
    this.#stop = undefined
    void this.#context?.close()
    this.#context = undefined
    this.level.value = undefined
    this.isHeard.value = false
    this.state.value = 'closed'
  }

  #hear(samples: Int16Array): void {
    let loudest = 0
    for (const sample of samples) loudest = Math.max(loudest, Math.abs(sample))
    this.level.value = loudest / 32_768
    this.#send({ type: 'input_audio_buffer.append', audio: base64OfSamples(samples) })
  }

  #send(message: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message))
  }

  #take(message: Message): void {
    const { type = '', delta = '', transcript = '', item_id: item = '', response_id: id = '' } = message
    this.events.value = [...this.events.value, type].slice(-MAX_EVENTS)
    switch (type) {
      case 'input_audio_buffer.speech_started':
        this.isHeard.value = true
        this.#speaker?.hush()
        break
      case 'input_audio_buffer.speech_stopped':
        this.isHeard.value = false
        this.#add(`said ${item}`, 'You', '(spoken)')
        break
      case 'conversation.item.input_audio_transcription.completed':
        this.#add(`said ${item}`, 'You', transcript, true)
        break
      case 'response.output_audio.delta':
        this.#speaker?.play(delta)
        break
      case 'response.output_audio_transcript.delta':
      case 'response.output_text.delta':
        this.#add(id, 'Model', delta)
        break
      case 'response.done':
        this.tokens.value +=
          (message.response?.usage?.input_tokens ?? 0) + (message.response?.usage?.output_tokens ?? 0)
        break
      case 'error':
        this.error.value = message.error?.message ?? 'The model reports an error.'
        break
    }
  }

  /** Adds to the turn of that id, or begins it. */
  #add(id: string, who: Turn['who'], text: string, isWhole = false): void {
    const turns = this.turns.value
    const known = turns.find(turn => turn.id === id)
    this.turns.value =
      known === undefined
        ? [...turns, { id, who, text }].slice(-MAX_TURNS)
        : turns.map(turn => (turn === known ? { ...turn, text: isWhole ? text : turn.text + text } : turn))
  }
}
