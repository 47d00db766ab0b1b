"""The contract of scikit-learn's estimators, without importing scikit-learn."""

import inspect
from typing import Any, Self

from lookalike.core.errors import InvalidInput


class Estimator:
    """An object with settings that scikit-learn's ``clone`` and searches over settings accept.

    Constructors only store their parameters, under their own names. scikit-learn takes a second to
    import, and searching needs none of it; its tags are made when it asks for them.
    """

    @classmethod
    def _names(cls) -> list[str]:
        """Return the names of the constructor's parameters."""
        if cls.__init__ is object.__init__:
            return []
        kept = inspect.signature(cls.__init__).parameters.values()
        return sorted(
            one.name for one in kept if one.name != "self" and one.kind is not one.VAR_KEYWORD
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings; with ``deep``, those of parts as ``part__setting`` as well."""
        result = {name: getattr(self, name) for name in self._names()}
        for name, value in list(result.items()) if deep else []:
            if hasattr(value, "get_params") and not isinstance(value, type):
                inner = value.get_params(deep=True)
                result.update({f"{name}__{key}": one for key, one in inner.items()})
        return result

    def set_params(self, **settings: Any) -> Self:
        """Change settings, all or none, and return self."""
        known = self.get_params(deep=True)
        for name in settings:
            if name not in known:
                raise InvalidInput(
                    f"{type(self).__name__}: there is no parameter {name!r:.80}. Choose from "
                    f"{', '.join(sorted(known))}."
                )
        for name, value in settings.items():
            part, _, rest = name.partition("__")
            if rest:
                getattr(self, part).set_params(**{rest: value})
            else:
                setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        given = {
            name: getattr(self, name)
            for name, one in inspect.signature(type(self)).parameters.items()
            if repr(getattr(self, name, one.default)) != repr(one.default)
        }
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in given.items())})"

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn asks of an estimator: one that is fitted, without a target."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=None,
            classifier_tags=None,
            regressor_tags=None,
            input_tags=InputTags(sparse=True),
        )
