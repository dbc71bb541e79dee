import { describe } from '../../families/fields.js'
import { badArgument } from '../../families/native.js'
import { isObject, type Json, type JsonObject } from '../../json.js'

/** What a field holds: a scalar, any JSON, one of some names, a message of the table, or a list or map of one of them. */
type FieldType =
  | Scalar
  | { readonly names: readonly string[] }
  | { readonly message: string }
  | { readonly list: FieldType }
  | { readonly map: string }
type Scalar = 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'number' | 'struct' | 'json'

/** The fields of each message, by their names in camelCase. */
type Messages = Readonly<Record<string, Readonly<Record<string, FieldType>>>>

/**
 * Reads a JSON document as the protocol's JSON mapping does: names in camelCase or snake_case, whole numbers also as
 * strings, bytes in either base64 alphabet, names of choices also in small letters or as their number, nothing that the message does not have. The result has camelCase names, and
 * no member that was null. Throws {@link SimulatorError}.
 */
export function readMessage(name: string, value: JsonObject, path = ''): JsonObject {
  const fields = WIRE[name] ?? {}
  const read: Record<string, Json> = {}
  for (const [key, member] of Object.entries(value)) {
    const field = camel(key)
    const type = Object.hasOwn(fields, field) ? fields[field] : undefined
    if (type === undefined) throw unknown(key, path)
    const place = path === '' ? snake(field) : `${path}.${snake(field)}`
    if (member !== null) read[field] = readField(type, member, place)
  }
  return read
}

function readField(type: FieldType, value: Json, path: string): Json {
  if (typeof type === 'string') return readScalar(type, value, path)
  if ('names' in type) return readName(type.names, value, path)
  if ('message' in type) {
    if (!isObject(value)) throw wrong(path, type.message, value)
    return readMessage(type.message, value, path)
  }
  if ('list' in type) {
    // A single value stands for a list of one, as the mapping of some clients has it.
    const items = Array.isArray(value) ? value : [value]
    return items.map((item, index) => readField(type.list, item, `${path}[${index}]`))
  }
  if (!isObject(value)) throw wrong(path, 'map', value)
  const entries = Object.entries(value).map(([key, item]) => {
    if (!isObject(item)) throw wrong(`${path}[0].value`, type.map, item)
    return [key, readMessage(type.map, item, `${path}[0].value`)] as const
  })
  return Object.fromEntries(entries)
}

/** A number counts the names from 0; one that has no name yet may be a newer client's, as may be in the mapping. */
function readName(names: readonly string[], value: Json, path: string): Json {
  if (typeof value === 'number' && Number.isInteger(value)) return names[value] ?? value
  return fit(typeof value === 'string' && names.includes(value.toUpperCase()), value, path, 'TYPE_ENUM')
}

function readScalar(type: Scalar, value: Json, path: string): Json {
  switch (type) {
    case 'json':
      return value
    case 'struct':
      return fit(isObject(value), value, path, 'Struct')
    case 'string':
      return fit(typeof value === 'string', value, path, 'TYPE_STRING')
    case 'bool':
      return fit(typeof value === 'boolean', value, path, 'TYPE_BOOL')
    case 'number':
      return fit(typeof value === 'number', value, path, 'TYPE_FLOAT')
    case 'bytes':
      return fit(typeof value === 'string' && isBase64(value), value, path, 'TYPE_BYTES', 'Base64 decoding failed')
    case 'int32':
    case 'int64': {
      const number = typeof value === 'string' && /^-?\d{1,18}$/.test(value) ? Number(value) : value
      return fit(Number.isInteger(number), number, path, type === 'int32' ? 'TYPE_INT32' : 'TYPE_INT64')
    }
  }
}

function fit(fits: boolean, value: Json, path: string, type: string, why?: string): Json {
  if (fits) return value
  throw wrong(path, type, value, why)
}

/** Both alphabets (RFC 4648, sections 4 and 5), padded or not. */
function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/_-]*={0,2}$/.test(text)
}

function wrong(path: string, type: string, value: Json, why?: string) {
  const got = typeof value === 'string' ? `"${value.slice(0, 100)}"` : describe(value)
  return badArgument(`Invalid value at '${path}' (${type}), ${why === undefined ? got : `${why} for ${got}`}`)
}

function unknown(key: string, path: string) {
  const where = path === '' ? '' : ` at '${path}'`
  return badArgument(`Invalid JSON payload received. Unknown name "${key.slice(0, 100)}"${where}: Cannot find field.`)
}

function camel(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}

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

/** The messages of the native protocol's requests that the simulator reads (its API reference). */
const WIRE: Messages = {
  GenerateContentRequest: {
    ...all('string', 'model', 'cachedContent'),
    store: 'bool',
    labels: 'struct',
    contents: many('Content'),
    systemInstruction: one('Content'),
    generationConfig: one('GenerationConfig'),
    tools: many('Tool'),
    toolConfig: one('ToolConfig'),
    safetySettings: many('SafetySetting'),
    serviceTier: names('UNSPECIFIED', 'STANDARD', 'FLEX', 'PRIORITY'),
  },
  CountTokensRequest: {
    model: 'string',
    contents: many('Content'),
    generateContentRequest: one('GenerateContentRequest'),
  },
  EmbedContentRequest: {
    ...all('string', 'model', 'title'),
    outputDimensionality: 'int32',
    content: one('Content'),
    taskType: names('TASK_TYPE_UNSPECIFIED', ...TASKS),
    embedContentConfig: one('EmbedContentConfig'),
  },
  BatchEmbedContentsRequest: { model: 'string', requests: many('EmbedContentRequest') },
  EmbedContentConfig: {
    title: 'string',
    outputDimensionality: 'int32',
    ...all('bool', 'autoTruncate', 'documentOcr', 'audioTrackExtraction'),
    taskType: names('TASK_TYPE_UNSPECIFIED', ...TASKS),
  },
  PredictRequest: { model: 'string', instances: { list: 'struct' }, parameters: 'struct' },
  Content: { role: 'string', parts: many('Part') },
  Part: {
    text: 'string',
    ...all('struct', 'executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'),
    ...all('struct', 'videoMetadata', 'partMetadata'),
    thought: 'bool',
    thoughtSignature: 'bytes',
    mediaResolution: 'json',
    inlineData: one('Blob'),
    fileData: one('FileData'),
    functionCall: one('FunctionCall'),
    functionResponse: one('FunctionResponse'),
    mediaProcessing: names('MEDIA_PROCESSING_UNSPECIFIED', 'STATIC', 'AGENTIC'),
  },
  Blob: { mimeType: 'string', data: 'bytes', displayName: 'string' },
  FileData: { mimeType: 'string', fileUri: 'string', displayName: 'string' },
  FunctionCall: { id: 'string', name: 'string', args: 'struct' },
  FunctionResponse: {
    ...all('string', 'id', 'name'),
    response: 'struct',
    willContinue: 'bool',
    parts: many('FunctionResponsePart'),
    scheduling: names('SCHEDULING_UNSPECIFIED', 'SILENT', 'WHEN_IDLE', 'INTERRUPT'),
  },
  FunctionResponsePart: { inlineData: one('Blob'), fileData: one('FileData') },
  Tool: {
    ...all('struct', 'googleSearch', 'googleSearchRetrieval', 'codeExecution', 'urlContext'),
    ...all('struct', 'fileSearch', 'googleMaps', 'computerUse'),
    functionDeclarations: many('FunctionDeclaration'),
    mcpServers: { list: 'struct' },
  },
  FunctionDeclaration: {
    ...all('string', 'name', 'description'),
    ...all('json', 'parametersJsonSchema', 'responseJsonSchema'),
    parameters: one('Schema'),
    response: one('Schema'),
    behavior: names('UNSPECIFIED', 'BLOCKING', 'NON_BLOCKING'),
  },
  ToolConfig: {
    retrievalConfig: 'struct',
    includeServerSideToolInvocations: 'bool',
    functionCallingConfig: one('FunctionCallingConfig'),
  },
  FunctionCallingConfig: { mode: 'string', allowedFunctionNames: { list: 'string' } },
  SafetySetting: {
    category: names(...HARMS.map(harm => `HARM_CATEGORY_${harm}`)),
    threshold: names('HARM_BLOCK_THRESHOLD_UNSPECIFIED', ...THRESHOLDS),
    method: names('HARM_BLOCK_METHOD_UNSPECIFIED', 'SEVERITY', 'PROBABILITY'),
  },
  GenerationConfig: {
    ...all('number', 'temperature', 'topP', 'topK', 'presencePenalty', 'frequencyPenalty'),
    ...all('int32', 'candidateCount', 'maxOutputTokens', 'seed', 'logprobs'),
    responseMimeType: 'string',
    responseJsonSchema: 'json',
    ...all('struct', 'responseFormat', 'speechConfig', 'imageConfig', 'translationConfig', 'audioTranscriptionConfig'),
    ...all('bool', 'responseLogprobs', 'enableAffectiveDialog', 'enableEnhancedCivicAnswers'),
    stopSequences: { list: 'string' },
    responseSchema: one('Schema'),
    responseModalities: { list: 'string' },
    thinkingConfig: one('ThinkingConfig'),
    mediaResolution: names(...['UNSPECIFIED', 'LOW', 'MEDIUM', 'HIGH'].map(level => `MEDIA_RESOLUTION_${level}`)),
  },
  ThinkingConfig: { includeThoughts: 'bool', thinkingBudget: 'int32', thinkingLevel: 'string' },
  Schema: {
    ...all('string', 'format', 'title', 'description', 'pattern'),
    nullable: 'bool',
    ...all('number', 'minimum', 'maximum'),
    ...all('int64', 'minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'),
    ...all('json', 'default', 'example'),
    type: names('TYPE_UNSPECIFIED', 'STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL'),
    enum: { list: 'string' },
    items: one('Schema'),
    properties: { map: 'Schema' },
    required: { list: 'string' },
    anyOf: many('Schema'),
    propertyOrdering: { list: 'string' },
  },
}

/** Members of one type. */
function all(type: Scalar, ...names: readonly string[]): Readonly<Record<string, Scalar>> {
  return Object.fromEntries(names.map(name => [name, type]))
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
