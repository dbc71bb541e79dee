import type { Faults } from '../../faults/table.js'
import { spoiled } from '../../faults/usage.js'
import type { PromptTokens } from '../../text/usage.js'

/** What has been said so far. Thoughts are counted beside the rest. */
export interface Spent {
  readonly output: number
  readonly thoughts: number
}

/** `usageMetadata`: counts of zero are left out, as the protocol's JSON mapping does. */
export function usageMetadata(prompt: PromptTokens, { output, thoughts }: Spent, faults: Faults): object | undefined {
  const counts = {
    promptTokenCount: prompt.input,
    candidatesTokenCount: output || undefined,
    totalTokenCount: prompt.input + output + thoughts,
    promptTokensDetails: modalities(prompt),
    thoughtsTokenCount: thoughts || undefined,
  }
  return spoiled(counts, faults)
}

/** The tokens of a prompt by what they stand for. */
export function modalities({ input, image, audio, file }: PromptTokens): readonly object[] {
  const counts = { TEXT: input - image - audio - file, IMAGE: image, AUDIO: audio, DOCUMENT: file }
  return Object.entries(counts).flatMap(([modality, tokenCount]) =>
    tokenCount === 0 ? [] : [{ modality, tokenCount }],
  )
}
