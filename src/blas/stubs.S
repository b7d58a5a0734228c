/* SPDX-License-Identifier: Apache-2.0
 *
 * The routines that another BLAS does: a jump through a slot that at first leads to resolve_and_go. A jump needs to know
 * nothing of the routine: arguments in registers and on the stack, the hidden lengths of Fortran's strings and the
 * fallback's way to return complex numbers stay as they are.
 */
        .macro  forward name
        .text
        .p2align 4
        .globl  \name
        .type   \name, @function
\name:
        endbr64
        jmp     *slot_\name(%rip)
        .size   \name, . - \name
        .type   lazy_\name, @function
lazy_\name:
        leaq    name_\name(%rip), %r11
        leaq    slot_\name(%rip), %r10
        jmp     resolve_and_go
        .size   lazy_\name, . - lazy_\name

        .section .data.rel.local, "aw"
        .p2align 3
slot_\name:
        .quad   lazy_\name

        .section .rodata
name_\name:
        .asciz  "\name"
        .endm

/* r11: the name, r10: its slot. All registers that carry arguments come out as they went in. */
        .text
        .p2align 4
        .type   resolve_and_go, @function
resolve_and_go:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        andq    $-16, %rsp
        subq    $192, %rsp
        movq    %rdi, 0(%rsp)
        movq    %rsi, 8(%rsp)
        movq    %rdx, 16(%rsp)
        movq    %rcx, 24(%rsp)
        movq    %r8, 32(%rsp)
        movq    %r9, 40(%rsp)
        movq    %rax, 48(%rsp)
        movq    %r10, 56(%rsp)
        movaps  %xmm0, 64(%rsp)
        movaps  %xmm1, 80(%rsp)
        movaps  %xmm2, 96(%rsp)
        movaps  %xmm3, 112(%rsp)
        movaps  %xmm4, 128(%rsp)
        movaps  %xmm5, 144(%rsp)
        movaps  %xmm6, 160(%rsp)
        movaps  %xmm7, 176(%rsp)
        movq    %r11, %rdi
        call    exactile_blas_resolve
        movq    %rax, %r11
        movq    56(%rsp), %r10
        movq    %r11, (%r10)
        movq    0(%rsp), %rdi
        movq    8(%rsp), %rsi
        movq    16(%rsp), %rdx
        movq    24(%rsp), %rcx
        movq    32(%rsp), %r8
        movq    40(%rsp), %r9
        movq    48(%rsp), %rax
        movaps  64(%rsp), %xmm0
        movaps  80(%rsp), %xmm1
        movaps  96(%rsp), %xmm2
        movaps  112(%rsp), %xmm3
        movaps  128(%rsp), %xmm4
        movaps  144(%rsp), %xmm5
        movaps  160(%rsp), %xmm6
        movaps  176(%rsp), %xmm7
        leave
        .cfi_def_cfa %rsp, 8
        jmp     *%r11
        .cfi_endproc
        .size   resolve_and_go, . - resolve_and_go

        .include "forwarded.inc"

        .section .note.GNU-stack, "", @progbits
