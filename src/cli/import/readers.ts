import { modelListReader } from './model-list.js'
import type { Reader } from './reader.js'

/** Readers by the word that a file of `routes/imports` has for them: by the shape of the foreign file. */
export const READERS: Readonly<Record<string, Reader>> = { model_list: modelListReader }
