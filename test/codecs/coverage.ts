type Rows = Readonly<Record<string, unknown>>

/** Keywords of the native dialect of JSON Schema. */
const NATIVE_SCHEMA: readonly string[] = [
  'anyOf',
  'default',
  'enum',
  'example',
  'format',
  'items',
  'maxItems',
  'maxLength',
  'maxProperties',
  'maximum',
  'minItems',
  'minLength',
  'minProperties',
  'minimum',
  'nullable',
  'pattern',
  'properties',
  'propertyOrdering',
  'required',
  'title',
  'type',
]

/**
 * Rows that hold what lies below them, too, with the names that are known there. A name that no row of the codec has, and
 * that is not here, is new: someone has to look at it.
 */
const BELOW: Readonly<Record<string, readonly string[]>> = {
  prompt: ['variables'],
  'input[].action': ['command', 'commands', 'env', 'pattern', 'query', 'sources', 'timeout_ms', 'working_directory'],
  'input[].output': ['exit_code', 'outcome', 'stderr', 'stdout'],
  'messages[].content[].citations': [
    'cited_text',
    'document_index',
    'document_title',
    'enabled',
    'encrypted_index',
    'end_block_index',
    'end_char_index',
    'end_page_number',
    'search_result_index',
    'start_block_index',
    'start_char_index',
    'start_page_number',
  ],
  'messages[].content[].source.content': [
    'cited_text',
    'document_index',
    'document_title',
    'encrypted_index',
    'end_block_index',
    'end_char_index',
    'end_page_number',
    'search_result_index',
    'start_block_index',
    'start_char_index',
    'start_page_number',
  ],
  'messages[].content[].content': [
    'cited_text',
    'document_index',
    'document_title',
    'enabled',
    'encrypted_index',
    'encrypted_stdout',
    'end_block_index',
    'end_char_index',
    'end_page_number',
    'error_code',
    'error_message',
    'file_type',
    'is_file_update',
    'lines',
    'new_lines',
    'new_start',
    'num_lines',
    'old_lines',
    'old_start',
    'page_age',
    'retrieved_at',
    'return_code',
    'search_result_index',
    'start_block_index',
    'start_char_index',
    'start_line',
    'start_page_number',
    'stderr',
    'stdout',
    'tool_name',
    'tool_references',
    'total_lines',
  ],
  'tools[].input_schema': ['properties', 'required'],
  'tools[].user_location': ['city', 'country', 'region', 'timezone'],
  'tools[].citations': ['enabled'],
  'tools[].functionDeclarations[].parameters': NATIVE_SCHEMA,
  'generationConfig.responseSchema': NATIVE_SCHEMA,
}

/**
 * Members that no row covers. A row covers what lies below it unless other rows go into that. One that says of its member
 * that it is left or done by the gateway does so whatever comes to lie below; one that carries it, as far as names go
 * that are known.
 */
export function uncovered(fields: Rows, members: readonly string[]): string[] {
  const rows = Object.keys(fields)
  const known = new Set(rows.map(lastName))
  const goesInto = (row: string): boolean => rows.some(other => other !== row && isBelow(other, row))
  const covers = (row: string, member: string): boolean =>
    isBelow(member, row) &&
    !goesInto(row) &&
    (!isCarried(fields[row]) || known.has(lastName(member)) || (BELOW[row]?.includes(lastName(member)) ?? false))
  return members.filter(member => !rows.some(row => row === member || covers(row, member)))
}

/** The canonical fields that hold it, against a reason why none does. */
function isCarried(held: unknown): boolean {
  return typeof held === 'string' || Array.isArray(held)
}

function lastName(member: string): string {
  return member.slice(member.lastIndexOf('.') + 1).replaceAll('[]', '')
}

function isBelow(member: string, row: string): boolean {
  return member.startsWith(`${row}.`) || member.startsWith(`${row}[]`)
}
