import type { Carry, Field, FieldMapping } from '../../core/fields.js'
import { approximated, carried, dropped, every, refused } from '../field-tables.js'

const OWN: FieldMapping = { left: 'only this protocol has it' }
const HOSTED: FieldMapping = 'hostedParts'
/** Where the bytes of media are, and an end of the braces around them. */
const STORED = 'bytes s3Location { uri bucketOwner } }'
const CITATION =
  'title source sourceContent location { web { url domain } documentChar { documentIndex start end } ' +
  'documentPage { documentIndex start end } documentChunk { documentIndex start end } ' +
  'searchResultLocation { searchResultIndex start end } }'
const GUARDED =
  'guardContent { text { text qualifiers } image { format source { bytes } } } ' +
  'toolAddition { tool { type name serverName } } toolRemoval { tool { type name serverName } }'
const DOCUMENT: FieldMapping = ['documentData', 'documentText']

/** Members of a request, by the model of the protocol's own clients (ConverseRequest, ConverseStreamRequest). */
export const CONVERSE_FIELDS: Readonly<Record<string, FieldMapping>> = {
  modelId: { here: 'chooses the model' },
  system: 'system',
  'system[].text': 'system',
  ...every('system[].', 'cachePoint { type ttl }', 'cacheMarks'),
  ...every('system[].', 'guardContent { text { text qualifiers } image { format source { bytes } } }', OWN),
  messages: ['turns', 'prefill'],
  'messages[].role': ['turns', 'midSystem'],
  'messages[].content': 'turns',
  'messages[].content[].text': 'turns',
  ...every('messages[].content[].', `image { format source { ${STORED} error { message } }`, 'imageData'),
  ...every('messages[].content[].', `video { format source { ${STORED} }`, 'videoData'),
  ...every('messages[].content[].', `audio { format source { ${STORED} error { message } }`, 'audioData'),
  ...every('messages[].content[].', `document { format name source { text content[] { text } ${STORED} }`, DOCUMENT),
  ...every('messages[].content[].', 'image.source.s3Location document.source.s3Location', 'fileId'),
  'messages[].content[].document.context': 'documentContext',
  ...every('messages[].content[].', 'document.citations { enabled }', 'cite'),
  ...every('messages[].content[].', 'searchResult { source title content citations { enabled } }', [
    'documentText',
    'documentContext',
    'cite',
  ]),
  ...every('messages[].content[].', 'toolUse { toolUseId name input }', 'calls'),
  'messages[].content[].toolUse.type': HOSTED,
  ...every('messages[].content[].', 'toolResult { toolUseId content }', ['results', 'resultMedia']),
  'messages[].content[].toolResult.status': 'resultError',
  'messages[].content[].toolResult.type': HOSTED,
  ...every(
    'messages[].content[].',
    'reasoningContent { reasoningText { text signature } redactedContent }',
    'reasoningParts',
  ),
  ...every('messages[].content[].', `citationsContent { content citations[] { ${CITATION} } }`, ['turns', 'cite']),
  ...every('messages[].content[].', 'cachePoint { type ttl }', 'cacheMarks'),
  ...every('messages[].content[].', GUARDED, HOSTED),
  inferenceConfig: ['maxTokens', 'temperature', 'topP', 'stop'],
  'inferenceConfig.maxTokens': 'maxTokens',
  'inferenceConfig.temperature': 'temperature',
  'inferenceConfig.topP': 'topP',
  'inferenceConfig.stopSequences': 'stop',
  toolConfig: 'tools',
  'toolConfig.tools': 'tools',
  ...every('toolConfig.tools[].', 'toolSpec { name description inputSchema }', 'tools'),
  'toolConfig.tools[].toolSpec.inputSchema.json': 'tools',
  'toolConfig.tools[].toolSpec.strict': 'strictTools',
  ...every('toolConfig.tools[].', 'systemTool { name }', 'hostedOther'),
  ...every('toolConfig.tools[].', 'cachePoint { type ttl }', 'cacheMarks'),
  ...every('toolConfig.', 'toolChoice { auto any tool }', 'toolChoice'),
  outputConfig: ['formatSchema', 'effort'],
  ...every('outputConfig.', 'textFormat { type structure { jsonSchema { schema name description } } }', 'formatSchema'),
  'outputConfig.effort': 'effort',
  additionalModelRequestFields: ['budget', 'effort', 'showReasoning', 'topK'],
  'additionalModelRequestFields.thinking': ['budget', 'effort', 'showReasoning'],
  'additionalModelRequestFields.top_k': 'topK',
  requestMetadata: 'metadata',
  serviceTier: 'serviceTier',
  'serviceTier.type': 'serviceTier',
  ...every('', 'guardrailConfig promptVariables additionalModelResponseFieldPaths performanceConfig', OWN),
}

/** What becomes of each canonical field in a request. */
export const CONVERSE_CARRIES: Readonly<Record<Field, Carry>> = {
  ...carried('system imageData audioData videoData documentContext cite calls results resultError'),
  ...carried('maxTokens topP stop metadata sealedReasoning'),
  cacheMarks: approximated('for models that cache prompts'),
  midSystem: approximated('they move before the first turn'),
  turns: approximated('one full stop is inserted where a user turn, or a text beside a document, is missing'),
  participant: dropped('turns have no names'),
  prefill: approximated('without the white space at its end'),
  imageUrl: refused('it accepts images only as bytes, or from its own store'),
  imageDetail: dropped('it has no resolution'),
  mediaUrl: refused('it accepts media only as bytes, or from its own store'),
  documentData: approximated('with a name of letters, digits, spaces and hyphens'),
  documentText: approximated('as bytes, unless it is cited'),
  documentUrl: refused('it accepts files only as bytes, or from its own store'),
  fileId: refused('the file is at another upstream'),
  tools: approximated('alternatives at the top of a schema are merged'),
  strictTools: approximated('bounds that it does not check are added to descriptions'),
  customTools: approximated('functions of one string; a grammar is added to the description'),
  hostedWebSearch: dropped('its models have such tools under names of their own'),
  hostedCode: dropped('its models have such tools under names of their own'),
  hostedOther: dropped('it has no such tool'),
  toolChoice: approximated('none leaves the tools out'),
  toolSubset: approximated('the other tools are dropped'),
  parallelTools: dropped('parallel calls cannot be switched off'),
  resultMedia: approximated('images, documents and videos; others are refused'),
  reasoningParts: approximated('thoughts that it signed; others are dropped'),
  refusals: approximated('as text'),
  hostedParts: dropped('tools of another upstream ran there'),
  temperature: approximated('at most 1; dropped while thinking by a budget'),
  topK: dropped('its models have it under names of their own'),
  seed: dropped('it has no seed'),
  presencePenalty: dropped('it has no penalties'),
  frequencyPenalty: dropped('it has no penalties'),
  logitBias: dropped('it has no biases'),
  candidates: dropped('it gives one answer'),
  logprobs: dropped('it returns no probabilities'),
  formatJson: approximated('by a tool that must be called'),
  formatSchema: approximated('bounds that it does not check are added to descriptions'),
  verbosity: dropped('it has no verbosity'),
  effort: approximated('minimal becomes low; a budget if the model accepts one'),
  budget: approximated('an effort, unless the model is declared to accept a budget'),
  showReasoning: approximated('with a budget or adaptive thinking; otherwise as the model sees fit'),
  user: dropped('it has no end user'),
  safetyId: dropped('it has no end user'),
  serviceTier: approximated('priority, default and flex; auto is left out; others are dropped'),
  cacheKey: dropped('prompts are cached where they are marked'),
  cacheRetention: dropped('prompts are cached where they are marked'),
  store: dropped('it does not store answers'),
  modalities: refused('it answers only in text and images'),
  audioOutput: dropped('it answers only in text and images'),
}
