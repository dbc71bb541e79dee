import type { JsonObject } from '../../../core/json.js'
import type { Task } from '../record.js'
import type { Face, Member, Variant } from './face.js'
import { common, lengthOf, objectFace, textOf, textsOf } from './object.js'

const VARIANTS: ReadonlyMap<string, Variant> = new Map([
  ['video', { fits: /^video\//, type: 'video/mp4' }],
  ['thumbnail', { fits: /^image\//, type: 'image/webp' }],
  ['spritesheet', { fits: /^image\//, type: 'image/jpeg' }],
])

/**
 * Videos of the compatible interface: an object with exactly four states, under `id` and, for clients of the older form,
 * under `task_id` too.
 */
export const video: Face = objectFace({ object: 'video', title: 'Video', variants: VARIANTS, input, record })

/** The length is the number `duration` or the text `seconds`; records show the text. */
function input(member: Member): JsonObject {
  return { ...textsOf(member, ['prompt']), ...lengthOf(member), ...textsOf(member, ['size']) }
}

function record(task: Task): JsonObject {
  const { input, fields } = task
  const { error, ...rest } = common(task, 'video')
  return {
    ...rest,
    prompt: textOf(input.prompt),
    size: textOf(fields.size) ?? textOf(input.size),
    seconds: textOf(fields.seconds) ?? textOf(input.seconds),
    remixed_from_video_id: task.parent ?? null,
    error: error ?? null,
  }
}
