import type { Carry, Field, FieldMapping } from '../../core/fields.js'
import { CONFIG_WHY } from './config-in.js'
import { PART_WHY } from './parts-in.js'
import { REQUEST_WHY } from './request-in.js'

type Members = Readonly<Record<string, FieldMapping>>

/** The same reason for several members: the object itself and all below it. */
function leftAll(why: string, names: readonly string[]): Members {
  return Object.fromEntries(names.map(name => [name, { left: why }]))
}

function holdAll(held: FieldMapping, names: readonly string[]): Members {
  return Object.fromEntries(names.map(name => [name, held]))
}

/** Members of a part, everywhere. */
const PART: Members = {
  text: 'turns',
  thought: 'reasoningParts',
  thoughtSignature: 'reasoningParts',
  ...holdAll(
    ['imageData', 'audioData', 'videoData', 'documentData'],
    ['inlineData', 'inlineData.mimeType', 'inlineData.data'],
  ),
  ...holdAll(['imageUrl', 'mediaUrl', 'documentUrl', 'fileId'], ['fileData', 'fileData.mimeType', 'fileData.fileUri']),
  ...holdAll('imageDetail', ['mediaResolution', 'mediaResolution.level']),
  ...holdAll('calls', ['functionCall', 'functionCall.id', 'functionCall.name', 'functionCall.args']),
  functionResponse: 'results',
  'functionResponse.id': 'results',
  'functionResponse.name': 'results',
  'functionResponse.response': ['results', 'resultError'],
  ...holdAll('resultMedia', [
    'functionResponse.parts',
    'functionResponse.parts[].inlineData',
    'functionResponse.parts[].inlineData.mimeType',
    'functionResponse.parts[].inlineData.data',
  ]),
  'functionResponse.willContinue': { left: 'other protocols have no partial results' },
  'functionResponse.scheduling': { left: 'other protocols have no scheduled results' },
  ...holdAll('hostedParts', [
    ...['executableCode', 'executableCode.id', 'executableCode.language', 'executableCode.code'],
    ...['codeExecutionResult', 'codeExecutionResult.id', 'codeExecutionResult.outcome', 'codeExecutionResult.output'],
    ...['toolCall', 'toolCall.id', 'toolCall.toolType', 'toolCall.toolName', 'toolCall.args'],
    ...['toolResponse', 'toolResponse.id', 'toolResponse.toolType', 'toolResponse.response'],
  ]),
  ...leftAll(PART_WHY.videoMetadata, [
    ...['videoMetadata', 'videoMetadata.startOffset', 'videoMetadata.endOffset', 'videoMetadata.fps'],
  ]),
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

const VOICE = 'voiceConfig.prebuiltVoiceConfig.voiceName'

/** Members of a request, by the protocol's reference (GenerateContentRequest), in camelCase; snake_case is the same. */
export const GENERATE_FIELDS: Members = {
  model: { here: 'also in the path, which chooses the model' },
  contents: 'turns',
  'contents[].role': 'turns',
  'contents[].parts': 'turns',
  ...below('contents[].parts[]', PART),
  systemInstruction: 'system',
  'systemInstruction.role': { here: 'instructions have no role' },
  'systemInstruction.parts': 'system',
  ...below('systemInstruction.parts[]', INSTRUCTION),

  tools: 'tools',
  ...holdAll('tools', [
    'tools[].functionDeclarations',
    'tools[].functionDeclarations[].name',
    'tools[].functionDeclarations[].description',
    'tools[].functionDeclarations[].parameters',
    'tools[].functionDeclarations[].parametersJsonSchema',
  ]),
  ...leftAll('other protocols have no schema of function results', [
    'tools[].functionDeclarations[].response',
    'tools[].functionDeclarations[].responseJsonSchema',
  ]),
  'tools[].functionDeclarations[].behavior': { left: 'other protocols have no non-blocking functions' },
  ...holdAll('hostedWebSearch', [
    'tools[].googleSearch',
    'tools[].googleSearch.searchTypes',
    'tools[].googleSearch.searchTypes.webSearch',
    'tools[].googleSearch.searchTypes.imageSearch',
    'tools[].googleSearch.timeRangeFilter',
    'tools[].googleSearch.timeRangeFilter.startTime',
    'tools[].googleSearch.timeRangeFilter.endTime',
    'tools[].googleSearchRetrieval',
    'tools[].googleSearchRetrieval.dynamicRetrievalConfig',
    'tools[].googleSearchRetrieval.dynamicRetrievalConfig.mode',
    'tools[].googleSearchRetrieval.dynamicRetrievalConfig.dynamicThreshold',
  ]),
  'tools[].codeExecution': 'hostedCode',
  ...holdAll('hostedOther', [
    'tools[].urlContext',
    'tools[].fileSearch',
    'tools[].fileSearch.topK',
    'tools[].fileSearch.fileSearchStoreNames',
    'tools[].fileSearch.metadataFilter',
    'tools[].googleMaps',
    'tools[].googleMaps.enableWidget',
    'tools[].computerUse',
    'tools[].computerUse.environment',
    'tools[].computerUse.excludedPredefinedFunctions',
    'tools[].computerUse.disabledSafetyPolicies',
    'tools[].computerUse.enablePromptInjectionDetection',
    'tools[].mcpServers',
    'tools[].mcpServers[].name',
    'tools[].mcpServers[].streamableHttpTransport',
    'tools[].mcpServers[].streamableHttpTransport.url',
    'tools[].mcpServers[].streamableHttpTransport.headers',
    'tools[].mcpServers[].streamableHttpTransport.timeout',
    'tools[].mcpServers[].streamableHttpTransport.sseReadTimeout',
    'tools[].mcpServers[].streamableHttpTransport.terminateOnClose',
  ]),
  toolConfig: 'toolChoice',
  'toolConfig.functionCallingConfig': 'toolChoice',
  'toolConfig.functionCallingConfig.mode': 'toolChoice',
  'toolConfig.functionCallingConfig.allowedFunctionNames': ['toolChoice', 'toolSubset'],
  'toolConfig.functionCallingConfig.streamFunctionCallArguments': {
    left: 'translated arguments are always streamed',
  },
  ...leftAll("other protocols give the user's location differently", [
    'toolConfig.retrievalConfig',
    'toolConfig.retrievalConfig.languageCode',
    'toolConfig.retrievalConfig.latLng',
    'toolConfig.retrievalConfig.latLng.latitude',
    'toolConfig.retrievalConfig.latLng.longitude',
  ]),
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
  'generationConfig.responseLogprobs': 'logprobs',
  'generationConfig.logprobs': 'logprobs',
  'generationConfig.responseMimeType': ['formatJson', 'formatSchema'],
  'generationConfig.responseSchema': 'formatSchema',
  'generationConfig.responseJsonSchema': 'formatSchema',
  ...holdAll(
    ['formatJson', 'formatSchema'],
    [
      'generationConfig.responseFormat',
      'generationConfig.responseFormat.text',
      'generationConfig.responseFormat.text.mimeType',
    ],
  ),
  'generationConfig.responseFormat.text.schema': 'formatSchema',
  ...leftAll('other text protocols have no speech format', [
    'generationConfig.responseFormat.audio',
    'generationConfig.responseFormat.audio.mimeType',
    'generationConfig.responseFormat.audio.sampleRate',
    'generationConfig.responseFormat.audio.bitRate',
    'generationConfig.responseFormat.audio.delivery',
  ]),
  ...leftAll(CONFIG_WHY.imageConfig, [
    'generationConfig.responseFormat.image',
    'generationConfig.responseFormat.image.mimeType',
    'generationConfig.responseFormat.image.aspectRatio',
    'generationConfig.responseFormat.image.imageSize',
    'generationConfig.responseFormat.image.delivery',
    'generationConfig.imageConfig',
    'generationConfig.imageConfig.aspectRatio',
    'generationConfig.imageConfig.imageSize',
  ]),
  'generationConfig.thinkingConfig': ['effort', 'budget', 'showReasoning'],
  'generationConfig.thinkingConfig.includeThoughts': 'showReasoning',
  'generationConfig.thinkingConfig.thinkingBudget': 'budget',
  'generationConfig.thinkingConfig.thinkingLevel': 'effort',
  'generationConfig.responseModalities': 'modalities',
  'generationConfig.mediaResolution': 'imageDetail',
  ...holdAll('audioOutput', [
    'generationConfig.speechConfig',
    'generationConfig.speechConfig.voiceConfig',
    'generationConfig.speechConfig.voiceConfig.prebuiltVoiceConfig',
    `generationConfig.speechConfig.${VOICE}`,
  ]),
  'generationConfig.speechConfig.languageCode': { left: 'other protocols do not name the language of speech' },
  ...leftAll('other protocols speak with one voice', [
    'generationConfig.speechConfig.multiSpeakerVoiceConfig',
    'generationConfig.speechConfig.multiSpeakerVoiceConfig.speakerVoiceConfigs',
    'generationConfig.speechConfig.multiSpeakerVoiceConfig.speakerVoiceConfigs[].speaker',
    'generationConfig.speechConfig.multiSpeakerVoiceConfig.speakerVoiceConfigs[].voiceConfig',
    'generationConfig.speechConfig.multiSpeakerVoiceConfig.speakerVoiceConfigs[].voiceConfig.prebuiltVoiceConfig',
    `generationConfig.speechConfig.multiSpeakerVoiceConfig.speakerVoiceConfigs[].${VOICE}`,
  ]),
  'generationConfig.enableAffectiveDialog': { left: CONFIG_WHY.enableAffectiveDialog },
  'generationConfig.enableEnhancedCivicAnswers': { left: CONFIG_WHY.enableEnhancedCivicAnswers },
  ...leftAll(CONFIG_WHY.translationConfig, [
    'generationConfig.translationConfig',
    'generationConfig.translationConfig.targetLanguageCode',
    'generationConfig.translationConfig.echoTargetLanguage',
  ]),
  ...leftAll(CONFIG_WHY.audioTranscriptionConfig, [
    'generationConfig.audioTranscriptionConfig',
    'generationConfig.audioTranscriptionConfig.mode',
    'generationConfig.audioTranscriptionConfig.languageCodes',
    'generationConfig.audioTranscriptionConfig.languageAuto',
    'generationConfig.audioTranscriptionConfig.languageHints',
    'generationConfig.audioTranscriptionConfig.languageHints.languageCodes',
    'generationConfig.audioTranscriptionConfig.adaptationPhrases',
    'generationConfig.audioTranscriptionConfig.customVocabulary',
    'generationConfig.audioTranscriptionConfig.diarization',
    'generationConfig.audioTranscriptionConfig.wordTimestamp',
  ]),

  ...leftAll(REQUEST_WHY.safetySettings, ['safetySettings', 'safetySettings[].category', 'safetySettings[].threshold']),
  cachedContent: 'fileId',
  labels: { left: REQUEST_WHY.labels },
  serviceTier: 'serviceTier',
  store: 'store',
}

/** What becomes of canonical fields in a request of this protocol. */
export const GENERATE_CARRIES: Readonly<Record<Field, Carry>> = {
  system: 'carried',
  midSystem: { approximated: 'with the instructions before the first turn' },
  turns: 'carried',
  participant: { dropped: 'participants have no names here' },
  prefill: { approximated: 'sent as a turn of the model, which may or may not continue it' },
  imageData: 'carried',
  imageUrl: { approximated: 'as a URL if the model fetches URLs, otherwise as bytes fetched by the gateway' },
  imageDetail: { approximated: 'as one resolution for all media of the request' },
  audioData: 'carried',
  videoData: 'carried',
  mediaUrl: { approximated: 'as a URL if the model fetches URLs, otherwise as bytes fetched by the gateway' },
  documentData: 'carried',
  documentText: { approximated: 'as a plain-text file after its title' },
  documentUrl: { approximated: 'as a URL if the model fetches URLs, otherwise as bytes fetched by the gateway' },
  documentContext: { dropped: 'files have no descriptions here' },
  fileId: { refused: 'a file id of another protocol cannot be used here' },
  cite: { dropped: 'citations of a document cannot be requested here' },
  tools: 'carried',
  strictTools: { approximated: 'all functions are then checked against their schemas' },
  customTools: { approximated: 'as functions with one text, `input`, as their argument' },
  hostedWebSearch: { approximated: 'without its settings' },
  hostedCode: { approximated: 'without its settings' },
  hostedOther: { dropped: 'upstreams of this protocol have no such tool' },
  toolChoice: 'carried',
  toolSubset: { approximated: 'calls from a subset are checked against their schemas' },
  parallelTools: { dropped: 'parallel calls cannot be switched off here' },
  calls: 'carried',
  results: 'carried',
  resultError: { approximated: 'as an answer with the one member `error`' },
  resultMedia: { approximated: 'in the result if the model thinks in levels, otherwise in the turn after the results' },
  reasoningParts: { approximated: 'without the seal of another protocol' },
  refusals: { approximated: 'as text' },
  hostedParts: { dropped: 'traces of tools that ran at upstreams of another protocol cannot be used here' },
  cacheMarks: { dropped: 'upstreams of this protocol cache prompts without marks' },
  maxTokens: 'carried',
  temperature: 'carried',
  topP: 'carried',
  topK: 'carried',
  stop: 'carried',
  seed: 'carried',
  presencePenalty: 'carried',
  frequencyPenalty: 'carried',
  logitBias: { dropped: 'there is no bias of single tokens here' },
  candidates: 'carried',
  logprobs: 'carried',
  formatJson: 'carried',
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
  serviceTier: 'carried',
  cacheKey: { dropped: 'prompt caching cannot be controlled here' },
  cacheRetention: { dropped: 'prompt caching cannot be controlled here' },
  store: 'carried',
  modalities: 'carried',
  audioOutput: { approximated: "with a voice of this name, in the upstream's format" },
}
