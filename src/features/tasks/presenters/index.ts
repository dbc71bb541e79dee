import type { Plan } from '../../../core/plan.js'
import { type TaskKind, type TaskRecordForm, undeclaredKind } from '../../../core/task-kind.js'
import { imagePresenter } from './image.js'
import { objectPresenter } from './object.js'
import { operationPresenter } from './operation.js'
import type { Presenter } from './presenter.js'

const FORMS: Readonly<Record<TaskRecordForm, (kind: TaskKind) => Presenter>> = {
  object: objectPresenter,
  'image-tasks': imagePresenter,
  operations: operationPresenter,
}

const PRESENTERS = new WeakMap<TaskKind, Presenter>()

export function presenterOf(kind: TaskKind): Presenter {
  const known = PRESENTERS.get(kind)
  if (known !== undefined) return known
  const presenter = FORMS[kind.record](kind)
  PRESENTERS.set(kind, presenter)
  return presenter
}

/** How tasks of the kind of that name are seen. */
export function presenterNamed({ taskKinds }: Pick<Plan, 'taskKinds'>, name: string): Presenter {
  return presenterOf(taskKinds.get(name) ?? undeclaredKind(name))
}
