import type { FieldType, Messages } from './proto.js'

const TASKS = [
  ...['RETRIEVAL_QUERY', 'RETRIEVAL_DOCUMENT', 'SEMANTIC_SIMILARITY', 'CLASSIFICATION', 'CLUSTERING'],
  ...['QUESTION_ANSWERING', 'FACT_VERIFICATION', 'CODE_RETRIEVAL_QUERY'],
]
const HARMS = [
  ...['UNSPECIFIED', 'DEROGATORY', 'TOXICITY', 'VIOLENCE', 'SEXUAL', 'MEDICAL', 'DANGEROUS', 'HARASSMENT'],
  ...['HATE_SPEECH', 'SEXUALLY_EXPLICIT', 'DANGEROUS_CONTENT', 'CIVIC_INTEGRITY', 'IMAGE_HATE'],
  ...['IMAGE_DANGEROUS_CONTENT', 'IMAGE_HARASSMENT', 'IMAGE_SEXUALLY_EXPLICIT', 'JAILBREAK'],
]
const THRESHOLDS = ['BLOCK_LOW_AND_ABOVE', 'BLOCK_MEDIUM_AND_ABOVE', 'BLOCK_ONLY_HIGH', 'BLOCK_NONE', 'OFF']

/** The messages of the native protocol's requests (its API reference), as far as the simulator looks into them. */
export const WIRE: Messages = {
  GenerateContentRequest: {
    model: 'string',
    contents: many('Content'),
    systemInstruction: one('Content'),
    generationConfig: one('GenerationConfig'),
    tools: many('Tool'),
    toolConfig: one('ToolConfig'),
    safetySettings: many('SafetySetting'),
    cachedContent: 'string',
    serviceTier: names('UNSPECIFIED', 'STANDARD', 'FLEX', 'PRIORITY'),
    store: 'bool',
    labels: 'struct',
  },
  CountTokensRequest: {
    model: 'string',
    contents: many('Content'),
    generateContentRequest: one('GenerateContentRequest'),
  },
  EmbedContentRequest: {
    model: 'string',
    content: one('Content'),
    taskType: names('TASK_TYPE_UNSPECIFIED', ...TASKS),
    title: 'string',
    outputDimensionality: 'int32',
    embedContentConfig: one('EmbedContentConfig'),
  },
  BatchEmbedContentsRequest: { model: 'string', requests: many('EmbedContentRequest') },
  EmbedContentConfig: {
    taskType: names('TASK_TYPE_UNSPECIFIED', ...TASKS),
    title: 'string',
    outputDimensionality: 'int32',
    autoTruncate: 'bool',
    documentOcr: 'bool',
    audioTrackExtraction: 'bool',
  },
  PredictRequest: { model: 'string', instances: { list: 'struct' }, parameters: 'struct' },
  Content: { role: 'string', parts: many('Part') },
  Part: {
    text: 'string',
    inlineData: one('Blob'),
    fileData: one('FileData'),
    functionCall: one('FunctionCall'),
    functionResponse: one('FunctionResponse'),
    executableCode: 'struct',
    codeExecutionResult: 'struct',
    toolCall: 'struct',
    toolResponse: 'struct',
    thought: 'bool',
    thoughtSignature: 'bytes',
    videoMetadata: 'struct',
    mediaResolution: 'json',
    mediaProcessing: names('MEDIA_PROCESSING_UNSPECIFIED', 'STATIC', 'AGENTIC'),
    partMetadata: 'struct',
  },
  Blob: { mimeType: 'string', data: 'bytes', displayName: 'string' },
  FileData: { mimeType: 'string', fileUri: 'string', displayName: 'string' },
  FunctionCall: { id: 'string', name: 'string', args: 'struct' },
  FunctionResponse: {
    id: 'string',
    name: 'string',
    response: 'struct',
    parts: many('FunctionResponsePart'),
    willContinue: 'bool',
    scheduling: names('SCHEDULING_UNSPECIFIED', 'SILENT', 'WHEN_IDLE', 'INTERRUPT'),
  },
  FunctionResponsePart: { inlineData: one('Blob'), fileData: one('FileData') },
  Tool: {
    functionDeclarations: many('FunctionDeclaration'),
    googleSearch: 'struct',
    googleSearchRetrieval: 'struct',
    codeExecution: 'struct',
    urlContext: 'struct',
    fileSearch: 'struct',
    googleMaps: 'struct',
    computerUse: 'struct',
    mcpServers: { list: 'struct' },
  },
  FunctionDeclaration: {
    name: 'string',
    description: 'string',
    parameters: one('Schema'),
    parametersJsonSchema: 'json',
    response: one('Schema'),
    responseJsonSchema: 'json',
    behavior: names('UNSPECIFIED', 'BLOCKING', 'NON_BLOCKING'),
  },
  ToolConfig: {
    functionCallingConfig: one('FunctionCallingConfig'),
    retrievalConfig: 'struct',
    includeServerSideToolInvocations: 'bool',
  },
  FunctionCallingConfig: { mode: 'string', allowedFunctionNames: { list: 'string' } },
  SafetySetting: {
    category: names(...HARMS.map(harm => `HARM_CATEGORY_${harm}`)),
    threshold: names('HARM_BLOCK_THRESHOLD_UNSPECIFIED', ...THRESHOLDS),
    method: names('HARM_BLOCK_METHOD_UNSPECIFIED', 'SEVERITY', 'PROBABILITY'),
  },
  GenerationConfig: {
    temperature: 'number',
    topP: 'number',
    topK: 'number',
    candidateCount: 'int32',
    maxOutputTokens: 'int32',
    stopSequences: { list: 'string' },
    seed: 'int32',
    presencePenalty: 'number',
    frequencyPenalty: 'number',
    responseMimeType: 'string',
    responseSchema: one('Schema'),
    responseJsonSchema: 'json',
    responseFormat: 'struct',
    responseModalities: { list: 'string' },
    responseLogprobs: 'bool',
    logprobs: 'int32',
    thinkingConfig: one('ThinkingConfig'),
    mediaResolution: names(...['UNSPECIFIED', 'LOW', 'MEDIUM', 'HIGH'].map(level => `MEDIA_RESOLUTION_${level}`)),
    speechConfig: 'struct',
    imageConfig: 'struct',
    translationConfig: 'struct',
    audioTranscriptionConfig: 'struct',
    enableAffectiveDialog: 'bool',
    enableEnhancedCivicAnswers: 'bool',
  },
  ThinkingConfig: { includeThoughts: 'bool', thinkingBudget: 'int32', thinkingLevel: 'string' },
  Schema: {
    type: names('TYPE_UNSPECIFIED', 'STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL'),
    format: 'string',
    title: 'string',
    description: 'string',
    nullable: 'bool',
    enum: { list: 'string' },
    items: one('Schema'),
    properties: { map: 'Schema' },
    required: { list: 'string' },
    anyOf: many('Schema'),
    propertyOrdering: { list: 'string' },
    minimum: 'number',
    maximum: 'number',
    minLength: 'int64',
    maxLength: 'int64',
    minItems: 'int64',
    maxItems: 'int64',
    minProperties: 'int64',
    maxProperties: 'int64',
    pattern: 'string',
    default: 'json',
    example: 'json',
  },
}

function one(message: string): FieldType {
  return { message }
}

function many(message: string): FieldType {
  return { list: { message } }
}

function names(...names: readonly string[]): FieldType {
  return { names }
}
