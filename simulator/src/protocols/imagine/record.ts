import { readFaults } from '../../faults/read.js'
import type { JsonObject } from '../../json.js'
import type { Call } from '../../protocol.js'
import { isOver, statusOf, timeOf } from '../../tasks/task.js'
import { originOf } from '../videos/begin.js'
import { actionOf, buttonsOf } from './action.js'
import type { Standing } from './known.js'
import { readFlags } from './picture.js'

const STATUS = { queued: 'SUBMITTED', running: 'IN_PROGRESS', done: 'SUCCESS', failed: 'FAILURE' }

const REASONS = {
  failed: '[Internal error] The image could not be generated',
  blocked: '[Banned prompt detected] The result was blocked by our moderation',
} as const

const WAITING = { phase: 'queued', progress: 0 } as const

/** A task's record. Times are in milliseconds. */
export function recordOf({ name, task, course: standing }: Standing, call: Call): JsonObject {
  const course = standing === 'modal' ? WAITING : standing
  const { phase, progress } = course
  const action = actionOf(task)
  const asked = readFaults(task.asked)
  const hasFailed = phase === 'failed' || phase === 'blocked'
  const status = standing === 'modal' ? 'MODAL' : statusOf(STATUS, course, asked)
  const hasPicture = (phase === 'running' || phase === 'done') && action !== 'VIDEO'
  const video = action === 'VIDEO' && phase === 'done' ? `${originOf(call)}/mj/video/${name}` : ''
  const { bot = 'MID_JOURNEY', state = '' } = task.facts
  return {
    ...{ id: name, action, status, state, botType: bot, customId: task.facts.customId ?? '', maskBase64: '' },
    ...{ prompt: task.prompt, promptEn: task.prompt, description: descriptionOf(action, task.prompt) },
    submitTime: task.started,
    startTime: phase === 'queued' ? null : task.started,
    finishTime: isOver(course) ? task.started + timeOf(asked) : null,
    progress: hasFailed ? '' : `${progress}%`,
    imageUrl: hasPicture ? `${originOf(call)}/mj/image/${name}` : '',
    videoUrl: video,
    videoUrls: video === '' ? [] : [{ url: video }],
    failReason: hasFailed ? REASONS[phase] : null,
    properties: { finalPrompt: finalPromptOf(action, task.prompt) },
    buttons: phase === 'done' ? buttonsOf(task).map(shown) : [],
  }
}

function descriptionOf(action: string, prompt: string): string {
  return `/${action.toLowerCase()} ${prompt}`.trim()
}

/** Of pictures that are described there are four; of long prompts, what counts in them. */
function finalPromptOf(action: string, prompt: string): string {
  const { text } = readFlags(prompt)
  const words = text.split(/\s+/)
  if (action === 'DESCRIBE')
    return [1, 2, 3, 4].map(index => `${index}\u{fe0f}\u{20e3} ${text}, ${LOOKS[index - 1]} --ar 1:1`).join('\n\n')
  if (action === 'SHORTEN') return words.filter(word => word.length > 3).join(', ')
  return prompt
}

const LOOKS = ['as a drawing', 'in soft light', 'from afar', 'in ink']

/** A button, and a grey one, in the numbers of the chat that such services run in. */
const BUTTON = { type: 2, style: 2 }

function shown({ customId, emoji, label }: ReturnType<typeof buttonsOf>[number]): JsonObject {
  return { customId, emoji, label, ...BUTTON }
}
