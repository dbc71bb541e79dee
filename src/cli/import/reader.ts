import type { Draft } from './draft.js'
import type { Words } from './kinds.js'
import type { View } from './view.js'

/** What a reader of a foreign file gets. */
export interface ReaderInput {
  readonly root: View
  readonly draft: Draft
  readonly words: Words
  /** Of `--model`: the name of the model where the file has none. */
  readonly model: string
  /** What the file of `routes/imports` says for the reader. */
  readonly data: View
}

/** Translates what it understands; what it never asks for is reported as unsupported. */
export type Reader = (input: ReaderInput) => void
