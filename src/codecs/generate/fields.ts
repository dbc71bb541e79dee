import type { Carry, Field, FieldMapping } from '../../core/fields.js'
import { carried, every } from '../field-tables.js'
import { CONFIG_WHY } from './config-in.js'
import { PART_WHY } from './parts-in.js'
import { REQUEST_WHY } from './request-in.js'

type Members = Readonly<Record<string, FieldMapping>>

/** Members of a part, everywhere. */
const PART: Members = {
  text: 'turns',
  ...every('', 'thought thoughtSignature', 'reasoningParts'),
  ...every('', 'inlineData { mimeType data }', ['imageData', 'audioData', 'videoData', 'documentData']),
  ...every('', 'fileData { mimeType fileUri }', ['imageUrl', 'mediaUrl', 'documentUrl', 'fileId']),
  ...every('', 'mediaResolution { level }', 'imageDetail'),
  ...every('', 'functionCall { id name args }', 'calls'),
  functionResponse: 'results',
  ...every('functionResponse.', 'id name', 'results'),
  'functionResponse.response': ['results', 'resultError'],
  ...every('functionResponse.', 'parts[] { inlineData { mimeType data } }', 'resultMedia'),
  'functionResponse.willContinue': { left: 'other protocols have no partial results' },
  'functionResponse.scheduling': { left: 'other protocols have no scheduled results' },
  ...every('', 'executableCode { id language code } codeExecutionResult { id outcome output }', 'hostedParts'),
  ...every('', 'toolCall { id toolType toolName args } toolResponse { id toolType response }', 'hostedParts'),
  ...every('', 'videoMetadata { startOffset endOffset fps }', { left: PART_WHY.videoMetadata }),
  mediaProcessing: { left: PART_WHY.mediaProcessing },
  partMetadata: { left: PART_WHY.partMetadata },
}

/** Instructions are text; everything else in their parts is dropped. */
const INSTRUCTION: Members = Object.fromEntries(
  Object.keys(PART).map(name => [
    name,
    name === 'text' ? 'system' : { left: 'other protocols accept instructions only as text' },
  ]),
)

function below(prefix: string, members: Members): Members {
  return Object.fromEntries(Object.entries(members).map(([name, held]) => [`${prefix}.${name}`, held]))
}

/** Members of a request, by the protocol's reference (GenerateContentRequest), in camelCase; snake_case is the same. */
export const GENERATE_FIELDS: Members = {
  model: { here: 'also in the path, which chooses the model' },
  contents: 'turns',
  ...every('contents[].', 'role parts', 'turns'),
  ...below('contents[].parts[]', PART),
  systemInstruction: 'system',
  'systemInstruction.role': { here: 'instructions have no role' },
  'systemInstruction.parts': 'system',
  ...below('systemInstruction.parts[]', INSTRUCTION),
  tools: 'tools',
  ...every('tools[].', 'functionDeclarations[] { name description parameters parametersJsonSchema }', 'tools'),
  ...every('tools[].functionDeclarations[].', 'response responseJsonSchema', {
    left: 'other protocols have no schema of function results',
  }),
  'tools[].functionDeclarations[].behavior': { left: 'other protocols have no non-blocking functions' },
  ...every(
    'tools[].',
    'googleSearch { searchTypes { webSearch imageSearch } timeRangeFilter { startTime endTime } }',
    'hostedWebSearch',
  ),
  ...every('tools[].', 'googleSearchRetrieval { dynamicRetrievalConfig { mode dynamicThreshold } }', 'hostedWebSearch'),
  'tools[].codeExecution': 'hostedCode',
  ...every('tools[].', 'urlContext fileSearch { topK fileSearchStoreNames metadataFilter }', 'hostedOther'),
  ...every('tools[].', 'googleMaps { enableWidget }', 'hostedOther'),
  ...every(
    'tools[].',
    'computerUse { environment excludedPredefinedFunctions disabledSafetyPolicies enablePromptInjectionDetection }',
    'hostedOther',
  ),
  ...every(
    'tools[].',
    'mcpServers[] { name streamableHttpTransport { url headers timeout sseReadTimeout terminateOnClose } }',
    'hostedOther',
  ),
  toolConfig: 'toolChoice',
  ...every('toolConfig.', 'functionCallingConfig { mode }', 'toolChoice'),
  'toolConfig.functionCallingConfig.allowedFunctionNames': ['toolChoice', 'toolSubset'],
  'toolConfig.functionCallingConfig.streamFunctionCallArguments': { left: 'translated arguments are always streamed' },
  ...every('toolConfig.', 'retrievalConfig { languageCode latLng { latitude longitude } }', {
    left: "other protocols give the user's location differently",
  }),
  'toolConfig.includeServerSideToolInvocations': {
    left: 'other protocols cannot choose whether the work of hosted tools is shown',
  },
  generationConfig: ['maxTokens', 'temperature', 'topP'],
  'generationConfig.temperature': 'temperature',
  'generationConfig.topP': 'topP',
  'generationConfig.topK': 'topK',
  'generationConfig.candidateCount': 'candidates',
  'generationConfig.maxOutputTokens': 'maxTokens',
  'generationConfig.stopSequences': 'stop',
  'generationConfig.seed': 'seed',
  'generationConfig.presencePenalty': 'presencePenalty',
  'generationConfig.frequencyPenalty': 'frequencyPenalty',
  ...every('generationConfig.', 'responseLogprobs logprobs', 'logprobs'),
  'generationConfig.responseMimeType': ['formatJson', 'formatSchema'],
  ...every('generationConfig.', 'responseSchema responseJsonSchema responseFormat.text.schema', 'formatSchema'),
  ...every('generationConfig.', 'responseFormat { text { mimeType } }', ['formatJson', 'formatSchema']),
  ...every('generationConfig.responseFormat.', 'audio { mimeType sampleRate bitRate delivery }', {
    left: 'other text protocols have no speech format',
  }),
  ...every('generationConfig.', 'imageConfig { aspectRatio imageSize }', { left: CONFIG_WHY.imageConfig }),
  ...every('generationConfig.', 'responseFormat.image { mimeType aspectRatio imageSize delivery }', {
    left: CONFIG_WHY.imageConfig,
  }),
  'generationConfig.thinkingConfig': ['effort', 'budget', 'showReasoning'],
  'generationConfig.thinkingConfig.includeThoughts': 'showReasoning',
  'generationConfig.thinkingConfig.thinkingBudget': 'budget',
  'generationConfig.thinkingConfig.thinkingLevel': 'effort',
  'generationConfig.responseModalities': 'modalities',
  'generationConfig.mediaResolution': 'imageDetail',
  ...every('generationConfig.', 'speechConfig { voiceConfig { prebuiltVoiceConfig { voiceName } } }', 'audioOutput'),
  'generationConfig.speechConfig.languageCode': { left: 'other protocols do not name the language of speech' },
  ...every(
    'generationConfig.speechConfig.',
    'multiSpeakerVoiceConfig { speakerVoiceConfigs[] { speaker voiceConfig { prebuiltVoiceConfig { voiceName } } } }',
    { left: 'other protocols speak with one voice' },
  ),
  'generationConfig.enableAffectiveDialog': { left: CONFIG_WHY.enableAffectiveDialog },
  'generationConfig.enableEnhancedCivicAnswers': { left: CONFIG_WHY.enableEnhancedCivicAnswers },
  ...every('generationConfig.', 'translationConfig { targetLanguageCode echoTargetLanguage }', {
    left: CONFIG_WHY.translationConfig,
  }),
  ...every(
    'generationConfig.',
    'audioTranscriptionConfig { mode languageCodes languageAuto languageHints { languageCodes } adaptationPhrases customVocabulary diarization wordTimestamp }',
    { left: CONFIG_WHY.audioTranscriptionConfig },
  ),
  ...every('', 'safetySettings[] { category threshold }', { left: REQUEST_WHY.safetySettings }),
  cachedContent: 'fileId',
  labels: { left: REQUEST_WHY.labels },
  serviceTier: 'serviceTier',
  store: 'store',
}

/** What becomes of canonical fields in a request of this protocol. */
export const GENERATE_CARRIES: Readonly<Record<Field, Carry>> = {
  ...carried('system turns imageData audioData videoData documentData tools toolChoice calls results maxTokens'),
  ...carried('temperature topP topK stop seed presencePenalty frequencyPenalty candidates logprobs formatJson'),
  ...carried('serviceTier store modalities'),
  midSystem: { approximated: 'with the instructions before the first turn' },
  participant: { dropped: 'participants have no names here' },
  prefill: { approximated: 'sent as a turn of the model, which may or may not continue it' },
  imageUrl: { approximated: 'as a URL if the model fetches URLs, otherwise as bytes fetched by the gateway' },
  imageDetail: { approximated: 'as one resolution for all media of the request' },
  mediaUrl: { approximated: 'as a URL if the model fetches URLs, otherwise as bytes fetched by the gateway' },
  documentText: { approximated: 'as a plain-text file after its title' },
  documentUrl: { approximated: 'as a URL if the model fetches URLs, otherwise as bytes fetched by the gateway' },
  documentContext: { dropped: 'files have no descriptions here' },
  fileId: { refused: 'a file id of another protocol cannot be used here' },
  cite: { dropped: 'citations of a document cannot be requested here' },
  strictTools: { approximated: 'all functions are then checked against their schemas' },
  customTools: { approximated: 'as functions with one text, `input`, as their argument' },
  hostedWebSearch: { approximated: 'without its settings' },
  hostedCode: { approximated: 'without its settings' },
  hostedOther: { dropped: 'upstreams of this protocol have no such tool' },
  toolSubset: { approximated: 'calls from a subset are checked against their schemas' },
  parallelTools: { dropped: 'parallel calls cannot be switched off here' },
  resultError: { approximated: 'as an answer with the one member `error`' },
  resultMedia: { approximated: 'in the result if the model thinks in levels, otherwise in the turn after the results' },
  reasoningParts: { approximated: 'without the seal of another protocol' },
  refusals: { approximated: 'as text' },
  hostedParts: { dropped: 'traces of tools that ran at upstreams of another protocol cannot be used here' },
  cacheMarks: { dropped: 'upstreams of this protocol cache prompts without marks' },
  logitBias: { dropped: 'there is no bias of single tokens here' },
  formatSchema: { approximated: '`const` as a list of one; bounds that are not checked here are reported' },
  verbosity: { dropped: 'there is no such setting here' },
  effort: {
    approximated: 'as a budget of tokens (0, 1024, 8192, 24576), or as a level if the model thinks in levels',
  },
  budget: { approximated: 'as it is, or as a level if the model thinks in levels' },
  showReasoning: { approximated: 'thoughts are summaries of a single length' },
  sealedReasoning: { approximated: 'upstreams of this protocol that seal thoughts always do so' },
  user: { dropped: 'end users cannot be named here' },
  safetyId: { dropped: 'end users cannot be named here' },
  metadata: { dropped: 'requests have no metadata here' },
  cacheKey: { dropped: 'prompt caching cannot be controlled here' },
  cacheRetention: { dropped: 'prompt caching cannot be controlled here' },
  audioOutput: { approximated: "with a voice of this name, in the upstream's format" },
}
