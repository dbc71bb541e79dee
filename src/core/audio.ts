import type { Counted, Left, MediaPart } from './text.js'

/** The canonical model of speech: a text that is spoken. */
export interface SpeakRequest {
  readonly model: string
  readonly text: string
  /** Whether the client wants the sound as events. */
  readonly stream: boolean
  /** Its name. */
  readonly voice?: string
  /** The id of a voice that someone had made. */
  readonly ownVoice?: string
  /** Container or codec, as compatible protocols call it. */
  readonly format?: string
  /** How it should be spoken. */
  readonly instructions?: string
  /** 1 is as usual. */
  readonly speed?: number
  readonly left: readonly Left[]
}

export interface SpeakResult extends Counted {
  readonly sound: Sound
  readonly outputAudio?: number
}

/** Samples of 16 bits, little-endian, the channels' in turn. */
export interface Sound {
  readonly samples: Uint8Array
  /** Of each channel, a second. */
  readonly rate: number
  readonly channels: number
}

/** What is said in a recording, written down or translated into English. */
export interface HearRequest {
  readonly model: string
  /** Inline. */
  readonly recording: MediaPart
  readonly stream: boolean
  /** ISO 639-1. */
  readonly language?: string
  /** A text that leads the transcript. */
  readonly prompt?: string
  readonly format?: string
  readonly temperature?: number
  /** What of them is asked for; whether they are is all that matters. */
  readonly times?: true
  readonly logprobs?: true
  readonly chunks?: true
  readonly speakers?: true
  readonly left: readonly Left[]
}

export interface HearResult extends Counted {
  readonly text: string
  readonly inputAudio?: number
}

export const SPEAK_FIELDS = {
  text: 'Text',
  voice: 'Voice by its name',
  ownVoice: 'Custom voice',
  format: 'Container or codec',
  instructions: 'How it is spoken',
  speed: 'Speed',
} as const

export type SpeakField = keyof typeof SPEAK_FIELDS

export const HEAR_FIELDS = {
  recording: 'Recording',
  language: 'Language of the recording',
  prompt: 'Prompt of the transcript',
  format: 'Form of the transcript',
  temperature: 'Temperature',
  times: 'Times of words and segments',
  logprobs: 'Log probabilities',
  chunks: 'Chunking of the recording',
  speakers: 'Known speakers',
} as const

export type HearField = keyof typeof HEAR_FIELDS
