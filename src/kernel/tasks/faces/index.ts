import type { TaskKind } from '../../../core/task.js'
import type { Face } from './face.js'
import { image } from './image.js'
import { audio, media } from './other.js'
import { video } from './video.js'

const FACES: Readonly<Record<TaskKind, Face>> = { video, image, audio, media }

export function faceOf(kind: TaskKind): Face {
  return FACES[kind]
}
