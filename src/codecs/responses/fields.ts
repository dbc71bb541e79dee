import type { Carry, Field, FieldMapping } from '../../core/fields.js'
import { USER_CARRY } from '../compatible-settings.js'
import { carried, every } from '../field-tables.js'

/** Members of tools that run at the upstream, by the protocol's reference. */
const TOOL_MEMBERS = [
  'output_schema defer_loading allowed_callers vector_store_ids max_num_results ranking_options { ranker',
  'score_threshold hybrid_search { embedding_weight text_weight } } filters { type key value filters[] { type key',
  'value } allowed_domains } environment { type file_ids memory_limit network_policy { type allowed_domains',
  'domain_secrets[] { domain name value } } skills[] { type skill_id version name description source { type',
  'media_type data } path } container_id } display_width display_height external_web_access user_location { type',
  'country region city timezone } search_context_size server_label server_url connector_id tunnel_id',
  'authorization server_description headers allowed_tools { tool_names read_only } require_approval { always {',
  'tool_names read_only } never { tool_names read_only } } container { type file_ids memory_limit network_policy',
  '{ type allowed_domains domain_secrets[] { domain name value } } } model quality size output_format',
  'output_compression moderation background input_fidelity input_image_mask { image_url file_id } partial_images',
  'action execution search_content_types',
].join(' ')

/** Members of a tool within a group of tools, and of a tool that a search found, beside those above. */
const GROUP_MEMBERS = [
  'tools[] { name description parameters strict type output_schema defer_loading allowed_callers format { type',
  'syntax definition } }',
].join(' ')
const FOUND_MEMBERS = [
  'type name description parameters strict format { type syntax definition } input_schema annotations',
].join(' ')

/** Members of items that only this protocol knows: traces of its own tools, and what a person decided of them. */
const ITEM_MEMBERS = [
  'phase status id queries results[] { file_id text filename attributes score } actions[] { type button x y keys',
  'path[] { x y } scroll_x scroll_y text } pending_safety_checks[] { id code message }',
  'acknowledged_safety_checks[] { id code message } caller { type caller_id } namespace execution result',
  'container_id code outputs[] { type logs url } environment { type skills[] { name description path }',
  'container_id } max_output_length operation { type path diff } server_label error { type code message content }',
  'approval_request_id approve reason fingerprint',
].join(' ')

/** Members of tools and items that only this protocol knows: carried whole to upstreams that support it, or not at all. */
const HOSTED_FIELDS: Readonly<Record<string, FieldMapping>> = {
  ...every('tools[].', `${TOOL_MEMBERS} ${GROUP_MEMBERS}`, ['hostedWebSearch', 'hostedCode', 'hostedOther']),
  ...every('input[].', `${ITEM_MEMBERS} tools[] { ${FOUND_MEMBERS} ${TOOL_MEMBERS} ${GROUP_MEMBERS} }`, 'hostedParts'),
}

const STATE: FieldMapping = { here: 'the gateway stores the conversation' }

const OF_ANSWER: FieldMapping = { here: 'of an earlier answer, which no protocol accepts' }

/** Members of a request, by the protocol's reference (CreateResponse). */
export const RESPONSES_FIELDS: Readonly<Record<string, FieldMapping>> = {
  ...HOSTED_FIELDS,
  ...every('input[].content[].logprobs[].', 'token logprob bytes top_logprobs[] { token logprob bytes }', OF_ANSWER),
  model: { here: 'chooses the model' },
  stream: { here: 'chooses the form of the answer' },
  stream_options: { here: 'options of the stream' },
  'stream_options.include_obfuscation': { left: 'translated streams are never padded' },
  input: 'turns',
  ...every('input[].', 'type content', 'turns'),
  'input[].role': ['turns', 'system', 'midSystem'],
  ...every('input[].content[].', 'type text', 'turns'),
  'input[].content[].refusal': 'refusals',
  'input[].content[].annotations': { here: 'citations of an earlier answer, which no protocol accepts' },
  'input[].id': { here: 'items are identified by position' },
  'input[].status': { here: 'items of a request are whole' },
  'input[].phase': { here: 'the phase of an earlier answer' },
  'input[].content[].logprobs': OF_ANSWER,
  ...every('input[].content[].', 'prompt_cache_breakpoint { mode }', 'cacheMarks'),
  'input[].content[].image_url': ['imageData', 'imageUrl'],
  'input[].content[].detail': 'imageDetail',
  'input[].content[].file_id': 'fileId',
  ...every('input[].content[].', 'file_data filename', 'documentData'),
  'input[].content[].file_url': 'documentUrl',
  'input[].content[].input_audio': 'audioData',
  'input[].content[].video_url': ['videoData', 'mediaUrl'],
  'input[].call_id': ['calls', 'results'],
  ...every('input[].', 'name arguments', 'calls'),
  'input[].input': ['calls', 'customTools'],
  'input[].output': ['results', 'resultMedia'],
  ...every('input[].', 'summary encrypted_content', 'reasoningParts'),
  'input[].action': 'hostedParts',
  instructions: 'system',
  tools: ['tools', 'hostedOther'],
  'tools[].type': ['tools', 'customTools', 'hostedWebSearch', 'hostedCode', 'hostedOther'],
  ...every('tools[].', 'name description parameters', 'tools'),
  'tools[].strict': 'strictTools',
  'tools[].format': 'customTools',
  tool_choice: 'toolChoice',
  ...every('tool_choice.', 'type name server_label', 'toolChoice'),
  ...every('tool_choice.', 'mode tools', 'toolSubset'),
  parallel_tool_calls: 'parallelTools',
  max_output_tokens: 'maxTokens',
  temperature: 'temperature',
  top_p: 'topP',
  top_logprobs: 'logprobs',
  include: ['logprobs', 'sealedReasoning'],
  text: ['formatJson', 'formatSchema', 'verbosity'],
  ...every('text.', 'format { type }', ['formatJson', 'formatSchema']),
  ...every('text.format.', 'name description schema strict', 'formatSchema'),
  'text.verbosity': 'verbosity',
  reasoning: ['effort', 'showReasoning'],
  'reasoning.effort': 'effort',
  ...every('reasoning.', 'summary generate_summary', 'showReasoning'),
  ...every('reasoning.', 'mode context', { left: 'other protocols have no such thing' }),
  user: 'user',
  safety_identifier: 'safetyId',
  metadata: 'metadata',
  service_tier: 'serviceTier',
  prompt_cache_key: 'cacheKey',
  prompt_cache_retention: 'cacheRetention',
  prompt_cache_options: { left: 'lifetimes of cached prompts are 5 minutes or 1 hour, by mark' },
  store: ['store'],
  ...every('', 'previous_response_id background conversation', STATE),
  truncation: { left: 'other protocols do not truncate conversations' },
  prompt: 'fileId',
  max_tool_calls: { left: 'other protocols have no limit of calls at the upstream' },
  context_management: { left: 'only upstreams of this protocol compact conversations' },
  moderation: { left: 'other protocols have no moderation within a request' },
  // Requests for counts alone have it so far.
  personality: { left: 'other protocols have no styles of the model' },
}

/** What becomes of canonical fields in a request of this protocol. */
export const RESPONSES_CARRIES: Readonly<Record<Field, Carry>> = {
  ...carried('system midSystem turns imageData imageUrl imageDetail documentData documentUrl tools strictTools'),
  ...carried('customTools toolChoice toolSubset parallelTools calls results resultMedia refusals maxTokens'),
  ...carried('temperature topP logprobs formatJson formatSchema verbosity effort showReasoning sealedReasoning'),
  ...carried('metadata serviceTier cacheKey cacheRetention store'),
  user: USER_CARRY,
  safetyId: USER_CARRY,
  participant: { dropped: 'participants have no names here' },
  prefill: { approximated: 'sent as a message; the answer is a separate message and need not continue it' },
  audioData: { refused: 'responses do not accept audio' },
  videoData: { refused: 'responses do not accept video' },
  mediaUrl: { refused: 'responses accept neither audio nor video' },
  documentText: { approximated: 'as text of the message, below its title' },
  documentContext: { dropped: 'a file has no description here' },
  fileId: { refused: 'a file id of another protocol cannot be used here' },
  cite: { dropped: 'responses cannot request citations of a document' },
  hostedWebSearch: { approximated: 'with its context size, domains and the location of the user' },
  hostedCode: { approximated: 'in a container of the upstream' },
  hostedOther: { dropped: 'responses have no such tool at the upstream' },
  resultError: { approximated: 'as text that begins with "Error: "' },
  reasoningParts: { dropped: 'thoughts sealed by another protocol cannot be used here' },
  hostedParts: { dropped: 'traces of tools that ran at an upstream of another protocol cannot be used here' },
  cacheMarks: { dropped: 'upstreams of this protocol cache prompts without marks' },
  topK: { dropped: 'responses have no such member' },
  stop: { dropped: 'responses have no stop sequences' },
  seed: { dropped: 'responses have no such member' },
  presencePenalty: { dropped: 'responses have no such member' },
  frequencyPenalty: { dropped: 'responses have no such member' },
  logitBias: { dropped: 'responses have no such member' },
  candidates: { dropped: 'responses give one answer' },
  budget: { approximated: 'as the effort whose budget includes it, at most high' },
  modalities: { dropped: 'responses answer in text' },
  audioOutput: { dropped: 'responses do not speak' },
}

/** The protocol's name, as routes, upstreams and seals have it. */
export const PROTOCOL = 'responses'
