/**
 * Everything of a request that the canonical model can hold and that protocols carry differently. Codecs say for
 * each of them what becomes of it; `docs/reference/translation.md` is made of that.
 */
export const FIELDS = {
  system: 'Instructions before the first turn',
  midSystem: 'Instructions in the middle of a conversation',
  turns: 'Turns of text',
  participant: 'Names of participants',
  prefill: 'Prefill: a last assistant turn that the answer continues',
  imageData: 'Images, inline',
  imageUrl: 'Images, by URL',
  imageDetail: 'Resolution of images',
  audioData: 'Audio, inline',
  videoData: 'Video, inline',
  mediaUrl: 'Audio and video, by URL',
  documentData: 'PDF and other files, inline',
  documentText: 'Documents of plain text',
  documentUrl: 'Files, by URL',
  documentContext: 'What a document is about',
  fileId: "Media by the upstream's file id",
  cite: 'Documents to be cited',
  tools: 'Functions',
  strictTools: 'Strict arguments',
  customTools: 'Tools that take free text',
  hostedWebSearch: 'Web search at the upstream',
  hostedCode: 'Code execution at the upstream',
  hostedOther: 'Other tools that run at the upstream',
  toolChoice: 'Which tool to call: auto, none, required, one by name',
  toolSubset: 'Choice among some of the tools',
  parallelTools: 'Parallel calls off',
  calls: 'Calls in the history',
  results: 'Results of calls',
  resultError: 'Results that are errors',
  resultMedia: 'Media in results',
  reasoningParts: 'Thoughts in the history, with their seals',
  refusals: 'Refusals in the history',
  hostedParts: 'Traces of tools that ran at the upstream',
  cacheMarks: 'Marks for prompt caching',
  maxTokens: 'Limit of output tokens',
  temperature: 'Temperature',
  topP: 'Nucleus sampling',
  topK: 'Top-k sampling',
  stop: 'Stop sequences',
  seed: 'Seed',
  presencePenalty: 'Presence penalty',
  frequencyPenalty: 'Frequency penalty',
  logitBias: 'Logit bias',
  candidates: 'Several answers',
  logprobs: 'Log probabilities',
  formatJson: 'Answer in JSON',
  formatSchema: 'Answer by a JSON Schema',
  verbosity: 'Verbosity',
  effort: 'Reasoning effort',
  budget: 'Reasoning budget in tokens',
  showReasoning: 'Visibility of thoughts',
  sealedReasoning: 'Request for sealed thoughts',
  user: 'End user',
  safetyId: 'Safety identifier',
  metadata: 'Metadata',
  serviceTier: 'Service tier',
  cacheKey: 'Key of the prompt cache',
  cacheRetention: 'Retention of the prompt cache',
  store: 'Storage of the answer',
  modalities: 'Output other than text',
  audioOutput: 'Voice and format of spoken answers',
} as const

export type Field = keyof typeof FIELDS

/**
 * What becomes of a field on its way out. `dropped` fields are left out and named to the client; `refused` ones are an
 * error, because the answer would not be the one that was asked for.
 */
export type Carry =
  | 'carried'
  | { readonly approximated: string }
  | { readonly dropped: string }
  | { readonly refused: string }

/**
 * What becomes of a member of a protocol's request on its way in: it is held by canonical fields, has done its work at
 * the gateway (`here`), or is held by none (`left`, and then why).
 */
export type FieldMapping<F extends string = Field> =
  | F
  | readonly F[]
  | { readonly here: string }
  | { readonly left: string }
