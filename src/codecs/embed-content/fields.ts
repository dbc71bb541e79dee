import type { EmbedField } from '../../core/embed.js'
import type { Carry, FieldMapping } from '../../core/fields.js'
import { NOT_DECLARED } from '../embed-media.js'

const LEFT_OPTION: FieldMapping<EmbedField> = { left: 'only this protocol has this option' }

/** What parts of a conversation can hold beside words and media. */
const LEFT_MEMBERS = [
  ...['functionCall', 'functionResponse', 'toolCall', 'toolResponse', 'executableCode', 'codeExecutionResult'],
  ...['thought', 'thoughtSignature', 'mediaProcessing', 'mediaResolution', 'videoMetadata', 'partMetadata'],
]
const LEFT_PART: FieldMapping<EmbedField> = { left: 'not embedded by other protocols' }

const CONTENT: Readonly<Record<string, FieldMapping<EmbedField>>> = {
  model: { here: 'chooses the model' },
  content: 'inputs',
  'content.role': { here: 'embeddings have no roles' },
  'content.parts': 'inputs',
  'content.parts[].text': 'inputs',
  'content.parts[].inlineData': 'mediaInputs',
  'content.parts[].inlineData.mimeType': 'mediaInputs',
  'content.parts[].inlineData.data': 'mediaInputs',
  'content.parts[].fileData': 'mediaInputs',
  'content.parts[].fileData.mimeType': 'mediaInputs',
  'content.parts[].fileData.fileUri': 'mediaInputs',
  ...Object.fromEntries(LEFT_MEMBERS.map(name => [`content.parts[].${name}`, LEFT_PART])),
  taskType: 'task',
  title: 'title',
  outputDimensionality: 'dimensions',
  embedContentConfig: ['task', 'title', 'dimensions'],
  'embedContentConfig.taskType': 'task',
  'embedContentConfig.title': 'title',
  'embedContentConfig.outputDimensionality': 'dimensions',
  'embedContentConfig.autoTruncate': LEFT_OPTION,
  'embedContentConfig.documentOcr': LEFT_OPTION,
  'embedContentConfig.audioTrackExtraction': LEFT_OPTION,
}

/** Members of EmbedContentRequest. */
export const SINGLE_FIELDS = CONTENT

/** Members of BatchEmbedContentsRequest. */
export const BATCH_FIELDS: Readonly<Record<string, FieldMapping<EmbedField>>> = {
  model: { here: 'chooses the model' },
  requests: 'inputs',
  ...Object.fromEntries(Object.entries(CONTENT).map(([name, held]) => [`requests[].${name}`, held])),
}

export const NATIVE_CARRIES: Readonly<Record<EmbedField, Carry>> = {
  inputs: 'carried',
  tokenInputs: { refused: 'the protocol does not accept tokens' },
  mediaInputs: NOT_DECLARED,
  dimensions: 'carried',
  encoding: 'carried',
  task: 'carried',
  title: 'carried',
  user: { dropped: 'the protocol has no such member' },
}
