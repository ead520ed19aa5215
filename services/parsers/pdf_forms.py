"""Values of filled form fields, which are not part of a PDF page's own text."""

from __future__ import annotations

import ctypes
from typing import Any

import pypdfium2.raw as raw

_TEXTS = (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX)
_BOXES = (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)


def field_values(form: Any, page: Any) -> list[tuple[str, str]]:
    """(field name, value) of the filled fields of a page, in file order.

    ``form`` is pypdfium2's form environment of the document; the caller holds pdfium's lock.
    Ticked boxes have their export value; empty fields, buttons and signatures are left out.
    """
    found: list[tuple[str, str]] = []
    for index in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            if raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET:
                name, value = _read(form, annotation)
                if value and (name, value) not in found:
                    found.append((name, value))
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
    return found


def _read(form: Any, annotation: Any) -> tuple[str, str]:
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    name = _string(raw.FPDFAnnot_GetFormFieldAlternateName, form, annotation) or _string(
        raw.FPDFAnnot_GetFormFieldName, form, annotation
    )
    value = ""
    if kind in _TEXTS:
        value = _string(raw.FPDFAnnot_GetFormFieldValue, form, annotation)
    elif kind in _BOXES and raw.FPDFAnnot_IsChecked(form, annotation):
        value = _string(raw.FPDFAnnot_GetFormFieldExportValue, form, annotation) or "Yes"
    return name, value


def _string(function: Any, form: Any, annotation: Any) -> str:
    size = function(form, annotation, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    function(form, annotation, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace").strip()
