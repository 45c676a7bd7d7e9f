# SPDX-License-Identifier: Apache-2.0
"""The expressions in marks of numbers: arithmetic on quantities of committed results."""
from __future__ import annotations

import ast
import operator
from typing import Callable, Sequence

from prose.measured import Number, Table, join
from prose.quantity import OVER, Source, nearest
from shared.report import InputError

OPERATIONS: dict[type[ast.AST], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
COMPARISONS: dict[type[ast.AST], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def by_value(number: Number) -> float:
    return number.value


def total(numbers: Sequence[Number]) -> Number:
    return sum(numbers[1:], start=numbers[0])


# Of the numbers in all rows of all arguments.
AGGREGATES: dict[str, Callable[[Sequence[Number]], Number]] = {
    "min": lambda numbers: min(numbers, key=by_value),
    "max": lambda numbers: max(numbers, key=by_value),
    "sum": total,
    "mean": lambda numbers: total(numbers) / Number(len(numbers)),
    "count": lambda numbers: Number(len(numbers)),
}
ENDS = ("low", "high")
FUNCTIONS = (*AGGREGATES, *ENDS, "abs", *OVER)


def parse(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"is no expression: {error}") from error


def baselines(expression: ast.expr) -> set[str]:
    """Returns the names of further baselines that the report must include."""
    calls = (node for node in ast.walk(expression) if isinstance(node, ast.Call))
    return {baseline_of(call) for call in calls if isinstance(call.func, ast.Name) and call.func.id in OVER}


def evaluate(expression: ast.expr, source: Source) -> Table:
    """Returns the expression's value. Raises InputError on everything but the syntax in prose_numbers.py --help."""
    if isinstance(expression, ast.Constant) and type(expression.value) in (int, float):
        return Table.of(float(expression.value))
    if isinstance(expression, ast.BinOp) and type(expression.op) in OPERATIONS:
        left, right = evaluate(expression.left, source), evaluate(expression.right, source)
        return join(left, right, OPERATIONS[type(expression.op)])
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub):
        return evaluate(expression.operand, source).each(operator.neg)
    if isinstance(expression, ast.Compare) and len(expression.ops) == 1 and type(expression.ops[0]) in COMPARISONS:
        holds = COMPARISONS[type(expression.ops[0])]
        left, right = evaluate(expression.left, source), evaluate(expression.comparators[0], source)
        return join(left, right, lambda one, other: Number(float(holds(one.value, other.value))))
    if isinstance(expression, ast.Call) and not is_baseline(expression):
        return call(expression, source)
    return quantity(expression, source)


def is_baseline(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name) and expression.func.id in OVER


def call(expression: ast.Call, source: Source) -> Table:
    name = expression.func.id if isinstance(expression.func, ast.Name) else ast.unparse(expression.func)
    if name not in FUNCTIONS:
        raise InputError(f"unknown function \"{name}\"{nearest(name, FUNCTIONS)}")
    if expression.keywords or not expression.args:
        raise InputError(f"{name}(): takes one or more values, without names")
    values = [evaluate(each, source) for each in expression.args]
    if name in AGGREGATES:
        numbers = [number for value in values for number in value.numbers()]
        modes = frozenset().union(*(value.modes for value in values))
        return Table({frozenset(): AGGREGATES[name](numbers)}, modes)
    if len(values) != 1:
        raise InputError(f"{name}(): takes one value")
    return values[0].each(abs if name == "abs" else lambda number: end(number, name))


def end(number: Number, name: str) -> Number:
    value = getattr(number, name)
    if value is None:
        raise InputError(f"{name}(): this value has no interval; it needs a quantity of the report, and several seeds")
    return Number(value, number.noise, verdicts=number.verdicts)


def baseline_of(expression: ast.Call) -> str:
    if len(expression.args) == 1 and isinstance(expression.args[0], ast.Constant) and not expression.keywords:
        return str(expression.args[0].value)
    raise InputError(f"{ast.unparse(expression)}: takes the name of a baseline, as in speed_up_over(\"DDP\")")


def quantity(expression: ast.expr, source: Source) -> Table:
    """Returns the value of NAME, NAME.NAME or either with a selection in brackets."""
    name, selections = path(expression)
    return source.quantity(name, selections)


def path(expression: ast.expr) -> tuple[str, list[str | int]]:
    if isinstance(expression, ast.Name):
        return expression.id, []
    if isinstance(expression, ast.Call) and is_baseline(expression):
        return f"{ast.unparse(expression.func)}_{baseline_of(expression)}", []
    if isinstance(expression, ast.Attribute):
        name, selections = path(expression.value)
        return (name, [*selections, expression.attr]) if selections else (f"{name}.{expression.attr}", [])
    if isinstance(expression, ast.Subscript):
        name, selections = path(expression.value)
        return name, [*selections, *selections_of(expression.slice)]
    raise InputError(f"cannot use \"{ast.unparse(expression)}\"; see plotting/prose_numbers.py --help")


def selections_of(index: ast.expr) -> list[str | int]:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if not all(isinstance(part, ast.Constant) and type(part.value) in (int, str) for part in parts):
        raise InputError(f"[{ast.unparse(index)}]: select by texts such as \"fp16\" or \"bottleneck.rate=100 Mbit/s\"")
    return [part.value for part in parts]
